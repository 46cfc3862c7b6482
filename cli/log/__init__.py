"""`ottla log`: prints or checks the logs of a data directory, as text or as lines of JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from ...console.options import CannotRun
from ..shared_options import AsJson, guarded, refuse_unused


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("log", epilog="Example: ottla log data --topic orders --decode")(guarded(_log))


def _log(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="[verify] DIR", help="The directory.")],
    topic: Annotated[
        str, typer.Option("--topic", metavar="T", help="Print the batches of this topic.")
    ] = "",
    decode: Annotated[
        bool, typer.Option("--decode", help="Print all batches and records.")
    ] = False,
    empty: Annotated[
        bool, typer.Option("--empty", help="Print partitions without records as well.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Print a data directory, Ottla's or Kafka's, or one partition's.

    Nothing is changed; a broker may use it. `ottla log verify DIR` checks everything: exit status 1
    on damage. With --json: one line for each partition, or with --decode for each batch.
    """
    from .directory import NotADirectory, Shown, show, verify

    *action, path = words
    if action not in ([], ["verify"]):
        raise CannotRun(f"log {' '.join(words)}: expected `log DIR` or `log verify DIR`")
    try:
        if action:
            refuse_unused(context, "verify, which checks everything", {"topic", "decode", "empty"})
            return verify(path, as_json=as_json)
        shown = Shown(topic=topic or None, decode=decode, empty=empty, as_json=as_json)
        return show(path, shown)
    except BrokenPipeError:
        raise
    except (NotADirectory, OSError) as error:
        raise CannotRun(str(error)) from None
