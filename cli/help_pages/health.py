"""The help page and the completion of `ottla health`; `ottla.serving.health` runs it."""

from __future__ import annotations

from typing import Annotated

import typer

from ..shared_options import HERE, AsJson, Bootstrap, guarded


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("health", epilog="Example: ottla health -b 127.0.0.1:9092")(guarded(_health))


def _health(
    address: Annotated[
        str, typer.Argument(metavar="[HOST:PORT,...]", help="Instead of --bootstrap.")
    ] = "",
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """Exit 0 if a broker answers, else 1; print its nodes and the number of topics."""
    raise AssertionError("__main__ runs it")
