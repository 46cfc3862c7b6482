"""`ottla demo`: exactly once, end to end, with Spark."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..console.options import CannotRun
from ..console.security import COMMAND_CONFIG, command_properties
from .shared_options import AsJson, about, check_writable, client_of, guarded

if TYPE_CHECKING:
    from ..testing.broker import Ottla


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("demo", epilog="Example: ottla demo --kill")(guarded(_demo))


def _demo(
    kill: Annotated[
        bool,
        typer.Option("--kill", help="Kill and restart the broker twice, while Spark is counting."),
    ] = False,
    bootstrap: Annotated[
        str,
        typer.Option(
            "--bootstrap",
            "-b",
            metavar="HOST:PORT,...",
            help="Use a running broker.",
        ),
    ] = "",
    transactions: Annotated[
        int, typer.Option("--transactions", metavar="N", min=1, help="How many.")
    ] = 60,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the page of what the broker saw."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show exactly-once processing, end to end, with Spark.

    A producer writes orders in transactions, Spark sums them up, and an audit compares the results
    with the producer's ledger: exit status 1 if they differ.
    """
    if kill and bootstrap:
        raise CannotRun("--kill needs the demo's own broker: omit --bootstrap")
    if html is not None and bootstrap:
        raise CannotRun("--html needs the demo's own broker: omit --bootstrap")
    check_writable("demo --html", html)
    if bootstrap and command_properties() is not None:
        raise CannotRun(
            f"the demo's clients do not log in: omit --bootstrap, or unset {COMMAND_CONFIG}"
        )
    from ..spark import demo
    from ..testing.broker import Ottla

    if bootstrap:
        client_of(bootstrap).close()
        run = demo.Run(bootstrap, transactions, suffix=f"-{secrets.token_hex(3)}")
        return demo.run(run, as_json=as_json)
    made = Ottla()
    made.tells_stories = made.tells_stories or html is not None
    with made as broker:
        killed = broker if kill else None
        run = demo.Run(broker.bootstrap_servers, transactions, broker=killed)
        status = demo.run(run, as_json=as_json)
        if html is not None:
            _write_page(html, broker, status)
        return status


def _write_page(html: Path, broker: Ottla, status: int) -> None:
    """Write the page of all that the broker saw. Raises CannotRun."""
    from ..testing.stories import Mark, write_story_page

    failure = "The audit found differences." if status else None
    try:
        write_story_page(broker, Mark(), html, title="ottla demo", failure=failure)
    except OSError as wrong:
        raise CannotRun(f"demo --html {about(html, wrong)}") from None
