"""`python -m ottla.kafka_tools NAME ...` runs a tool by the name that Kafka's images give it.

The name may have a directory and the suffix `.sh`: `/opt/kafka/bin/kafka-topics.sh`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from ..console.standard_streams import fill_closed_streams
from .names import TOOLS
from .tool import run


def main(words: Sequence[str] | None = None) -> int:
    """Run a tool; return its exit status.

    Args:
        words: the tool's name and its arguments; None: those of this process.
    """
    fill_closed_streams()
    given = list(sys.argv[1:] if words is None else words)
    name = given[0].rpartition("/")[2].removesuffix(".sh") if given else ""
    if name not in TOOLS:
        known = ", ".join(sorted(TOOLS))
        sys.stderr.write(f"ottla has no tool {name or 'without a name'}; it has {known}\n")
        return 1
    try:
        module = import_module(f"ottla.kafka_tools.{TOOLS[name]}")
        status = run(module.TOOL, given[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # `kafka-topics --list | head`
        sys.stdout = None  # otherwise the interpreter flushes it again
        return 0
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
