"""`ottla template`: reads its options and runs the warm process; imports little, as brokers do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..console.options import TEMPLATE_OPTIONS, CannotRun, add_options, new_parser


def template(
    words: Sequence[str],
    main: Callable[[list[str], Callable[[Mapping[str, object]], None]], int],
) -> int:
    """Run the warm process until it has been idle for too long; return the exit status.

    Args:
        words: the options of the command line.
        main: runs `ottla` with arguments, and calls the function when a broker answers.

    Raises:
        CannotRun: the socket cannot be made. SystemExit: an option is wrong.
    """
    from .serve import parser
    from .template_process import CannotListen, serve_template

    own = new_parser("template")
    add_options(own, TEMPLATE_OPTIONS)
    given = own.parse_args(words)
    parser().parse_args([])  # the brokers find it ready

    def serve(arguments: list[str], on_ready: Callable[[Mapping[str, object]], None]) -> int:
        return main(["serve", *arguments], on_ready)

    try:
        return serve_template(
            Path(given.socket),
            serve,
            idle_s=given.idle_s,
            until_stdin_ends=given.until_stdin_ends,
            as_json=given.as_json,
        )
    except CannotListen as error:
        raise CannotRun(str(error)) from None
