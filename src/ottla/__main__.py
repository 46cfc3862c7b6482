"""The command line's entry: `ottla serve`, `template` and `health` import only what they need.

All other commands, and the help pages, are in `ottla.cli`. Exit statuses: 0 fine, 1 the broker
refused or something is wrong, 2 the command cannot run (a wrong option, setting or address), 130
Ctrl-C.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .console.options import CannotRun
from .console.standard_streams import fill_closed_streams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_HELP = {"--help", "-h"}
_KAFKA_TOOLS = "kafka-"  # `ottla kafka-topics ...` is Kafka's shell tool of that name


def main(
    arguments: Sequence[str] | None = None,
    on_ready: Callable[[Mapping[str, object]], None] | None = None,
) -> int:
    """Run one command; return the exit status.

    Args:
        arguments: of the command line; None: those of this process.
        on_ready: called when `serve` answers, with the content of `--ready-json`.

    Raises:
        SystemExit: with status 2, if an option of `serve` or `health` is wrong.
    """
    fill_closed_streams()
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = _run(words, on_ready)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `ottla config | head`
        sys.stdout = None  # otherwise the interpreter flushes it again
        return 0
    except CannotRun as error:
        from .protocol.shown_text import shown

        sys.stderr.write(f"ottla: {shown(str(error))}\n")
        return 2
    return status


def _run(words: list[str], on_ready: Callable[[Mapping[str, object]], None] | None) -> int:
    if words and words[0].startswith(_KAFKA_TOOLS):
        from .kafka_tools.__main__ import main as kafka_tool

        return kafka_tool(words)
    if words and not _HELP & set(words):
        if words[0] == "serve":
            from .serving.serve import serve

            return serve(words[1:], on_ready)
        if words[0] == "health":
            from .serving.health import health

            return health(words[1:])
        if words[0] == "template":
            from .serving.template_command import template

            return template(words[1:], main)
    from .cli.app import run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
