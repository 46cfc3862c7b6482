"""`ottla txn`: transactions of a cluster, Ottla's or Kafka's."""

from __future__ import annotations

from typing import Annotated

import typer

from ..console.options import CannotRun
from . import transactions as command
from .shared_options import HERE, AsJson, Bootstrap, Subcommands, client_of


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    txn = Subcommands(
        app, "txn", help="Show and end transactions.", example="ottla txn list --state Ongoing"
    )
    txn.add("list", _list, example="ottla txn list --state Ongoing --longer-than 60")
    txn.add("describe", _describe, example="ottla txn describe orders-1")
    txn.add("complete", _complete, example="ottla txn complete orders-1 --commit")
    txn.add("abort", _abort, example="ottla txn abort orders-1")
    txn.add("watch", _watch, example="ottla txn watch --every 0.5")


def _list(
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Ongoing, Empty, ...; repeatable."),
    ] = None,
    longer_than: Annotated[
        float | None,
        typer.Option("--longer-than", metavar="S", help="Open for more than S seconds."),
    ] = None,
    pattern: Annotated[
        str, typer.Option("--pattern", help="Regular expression to find in the id.")
    ] = "",
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """List the transactional ids and their states."""
    longer_than_ms = -1 if longer_than is None else int(longer_than * 1000)
    with client_of(bootstrap) as client:
        return command.show_list(
            client,
            states=state or [],
            longer_than_ms=longer_than_ms,
            pattern=pattern,
            as_json=as_json,
        )


def _describe(
    transactional_id: Annotated[str, typer.Argument(metavar="ID")],
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """Print one transactional id."""
    with client_of(bootstrap) as client:
        return command.show(client, transactional_id, as_json=as_json)


def _complete(
    transactional_id: Annotated[str, typer.Argument(metavar="ID")],
    commit: Annotated[bool, typer.Option("--commit/--abort", help="How to end it.")],
    producer_id: Annotated[
        int | None, typer.Option("--producer-id", metavar="N", help="Producer that may end it.")
    ] = None,
    producer_epoch: Annotated[
        int | None, typer.Option("--producer-epoch", metavar="N", help="Its epoch.")
    ] = None,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """End a prepared transaction of two-phase commit (KIP-939).

    Without --producer-id: take it over, which fences its producer; the broker needs
    unstable.api.versions.enable and transaction.two.phase.commit.enable. With --producer-id and
    --producer-epoch: end it as that producer.
    """
    from . import prepared_transactions

    if (producer_id is None) != (producer_epoch is None):
        raise CannotRun("txn complete: expected --producer-id and --producer-epoch, or neither")
    owner = None
    if producer_id is not None and producer_epoch is not None:
        owner = prepared_transactions.Owner(producer_id, producer_epoch)
    with client_of(bootstrap) as client:
        return prepared_transactions.complete(
            client, transactional_id, commit=commit, owner=owner, as_json=as_json
        )


def _abort(
    transactional_id: Annotated[str, typer.Argument(metavar="[ID]")] = "",
    partition: Annotated[
        str,
        typer.Option("--partition", metavar="TOPIC-INDEX", help="Partition of the transaction."),
    ] = "",
    producer_id: Annotated[
        int | None,
        typer.Option("--producer-id", metavar="N", help="Its producer id."),
    ] = None,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """End an open transaction; its producer is fenced.

    With ID: as a new producer of that id would. With --partition and --producer-id: write an abort
    marker, for a transaction without a coordinator.
    """
    topic, _, index = partition.rpartition("-")
    on_partition = bool(topic) and index.isdecimal() and producer_id is not None
    if bool(transactional_id) == on_partition or (
        transactional_id and (partition or producer_id is not None)
    ):
        raise CannotRun("txn abort: expected ID, or --partition TOPIC-INDEX and --producer-id N")
    with client_of(bootstrap) as client:
        if transactional_id:
            return command.abort(client, transactional_id, as_json=as_json)
        assert producer_id is not None
        return command.abort_on_partition(client, topic, int(index), producer_id, as_json=as_json)


def _watch(
    every: Annotated[
        float, typer.Option("--every", metavar="S", min=0.0, help="Seconds between updates.")
    ] = 1.0,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """Show open transactions and the partitions that they hold back, until Ctrl-C.

    With --json: one line for each update.
    """
    with client_of(bootstrap) as client:
        return command.watch(client, every_s=every, as_json=as_json)
