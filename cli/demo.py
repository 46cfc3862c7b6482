"""`ottla demo`: exactly once, end to end, with Spark."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from ..console.options import CannotRun
from ..console.security import COMMAND_CONFIG, command_properties
from .shared_options import AsJson, client_of, guarded


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
    as_json: AsJson = False,
) -> int:
    """Show exactly-once processing, end to end, with Spark.

    A producer writes orders in transactions, Spark sums them up, and an audit compares the results
    with the producer's ledger: exit status 1 if they differ.
    """
    if kill and bootstrap:
        raise CannotRun("--kill needs the demo's own broker: omit --bootstrap")
    if bootstrap and command_properties() is not None:
        raise CannotRun(
            f"the demo's clients do not log in: omit --bootstrap, or unset {COMMAND_CONFIG}"
        )
    from ..spark import demo
    from ..testing.broker import running_broker

    if bootstrap:
        client_of(bootstrap).close()
        run = demo.Run(bootstrap, transactions, suffix=f"-{secrets.token_hex(3)}")
        return demo.run(run, as_json=as_json)
    with running_broker() as broker:
        killed = broker if kill else None
        return demo.run(
            demo.Run(broker.bootstrap_servers, transactions, broker=killed), as_json=as_json
        )
