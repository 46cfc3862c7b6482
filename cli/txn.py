"""`ottla txn`: transactions of a cluster, Ottla's or Kafka's.

`abort` ends the open transaction of a transactional id as a new producer of that id would, which
fences the old one. With a partition and a producer id it writes an abort marker instead, as Kafka's
admin client does, for a transaction without a coordinator. `complete` ends a prepared transaction
of two-phase commit (KIP-939).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Final

import typer

from ..client.admin.offsets import LATEST, Isolation, partition_offsets
from ..client.admin.transactions import (
    NO_TIMEOUT_MS,
    OPEN,
    NoTakeOver,
    Owner,
    Transaction,
    abort_on_partition,
    complete_transaction,
    describe_producers,
    fence,
    find_transaction,
    list_transactions,
)
from ..client.cluster_client import Client, ErrorAnswer
from ..console.options import CannotRun
from ..console.tables import (
    Table,
    format_time,
    plural,
    print_answer,
    print_error,
    print_json,
    print_line,
    print_table,
    render,
)
from ..protocol.errors import Code
from .shared_options import HERE, AsJson, Bootstrap, Subcommands, client_of

_DECIDED: Final = {"PrepareCommit": True, "PrepareAbort": False}


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
) -> None:
    """List the transactional ids and their states."""
    longer_than_ms = -1 if longer_than is None else int(longer_than * 1000)
    with client_of(bootstrap) as client:
        shown = list_transactions(
            client, states=state or [], longer_than_ms=longer_than_ms, pattern=pattern
        )
    if as_json:
        print_json([asdict(each) for each in shown])
    else:
        print_table(_listed(shown, _now_ms()))


def _describe(
    transactional_id: Annotated[str, typer.Argument(metavar="ID")],
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Print one transactional id."""
    with client_of(bootstrap) as client:
        known = find_transaction(client, transactional_id)
    if known is None:
        raise ErrorAnswer(Code.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
    if as_json:
        print_json(asdict(known))
        return
    open_ms = known.open_ms(_now_ms())
    print_line(f"transactional id  {known.transactional_id}")
    print_line(f"state             {known.state}")
    print_line(f"producer          {known.producer_id}, epoch {known.producer_epoch}")
    print_line(f"coordinator       node {known.coordinator}")
    print_line(f"timeout           {_timeout(known.timeout_ms)}")
    print_line(f"started           {format_time(known.started_ms)}")
    if open_ms is not None:
        left = f", {_duration(max(0, known.timeout_ms - open_ms))} left"
        has_timeout = known.timeout_ms != NO_TIMEOUT_MS
        print_line(f"open for          {_duration(open_ms)}{left if has_timeout else ''}")
    print_line(f"partitions        {', '.join(known.partitions) or 'none'}")


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
    if (producer_id is None) != (producer_epoch is None):
        raise CannotRun("txn complete: expected --producer-id and --producer-epoch, or neither")
    owner = None
    if producer_id is not None and producer_epoch is not None:
        owner = Owner(producer_id, producer_epoch)
    with client_of(bootstrap) as client:
        known = find_transaction(client, transactional_id)
        state = "not known" if known is None else known.state
        if known is None or (state != "Ongoing" and _DECIDED.get(state) is not commit):
            return _fail(f"{transactional_id} has no transaction to complete: it is {state}")
        if state == "Ongoing":
            try:
                complete_transaction(client, known, owner, commit=commit)
            except NoTakeOver as missing:
                why = f"txn complete: {missing}; name the producer: "
                raise CannotRun(f"{why}--producer-id N --producer-epoch N") from None
    decided = "" if state == "Ongoing" else ": that was already decided"
    text = f"{transactional_id} is {'committed' if commit else 'aborted'}{decided}"
    values = {"transactional_id": transactional_id, "is_committed": commit}
    print_answer(values, text, as_json=as_json)
    return 0


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
            return _abort_id(client, transactional_id, as_json=as_json)
        assert producer_id is not None
        return _abort_on_partition(client, topic, int(index), producer_id, as_json=as_json)


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
        return watch(client, every_s=every, as_json=as_json)


def _abort_id(client: Client, transactional_id: str, *, as_json: bool) -> int:
    """End the open transaction and fence its producer; return 1 if there is none.

    A decided transaction is completed as decided.

    Raises:
        ErrorAnswer: the coordinator refuses; CONCURRENT_TRANSACTIONS if the end takes too long.
    """
    known = find_transaction(client, transactional_id)
    if known is None or known.state not in OPEN:
        state = "not known" if known is None else known.state
        return _fail(f"{transactional_id} has no open transaction: it is {state}")
    epoch = fence(client, transactional_id, timeout_ms=known.timeout_ms)
    decided = known.state == "PrepareCommit"
    ended = "committed: that was already decided" if decided else "aborted"
    print_answer(
        {"transactional_id": transactional_id, "is_committed": decided, "producer_epoch": epoch},
        f"{transactional_id} is {ended}; its producer is fenced at epoch {epoch}",
        as_json=as_json,
    )
    return 0


def _abort_on_partition(
    client: Client, topic: str, partition: int, producer_id: int, *, as_json: bool
) -> int:
    """Write an abort marker for a producer's open transaction; return 1 if it has none there.

    Raises:
        ErrorAnswer: the partition's leader refuses.
    """
    hanging = [
        each
        for each in describe_producers(client, topic, partition)
        if each.producer_id == producer_id and each.current_txn_start_offset >= 0
    ]
    if not hanging:
        return _fail(f"producer {producer_id} has no open transaction on {topic}-{partition}")
    owner = Owner(producer_id, hanging[0].producer_epoch)
    abort_on_partition(client, topic, partition, owner, hanging[0].coordinator_epoch)
    text = f"the transaction of producer {producer_id} on {topic}-{partition} is aborted"
    values = {"topic": topic, "partition": partition, "producer_id": producer_id}
    print_answer(values, text, as_json=as_json)
    return 0


def watch(
    client: Client, *, every_s: float, times: int | None = None, as_json: bool = False
) -> int:
    """Show open transactions and the partitions that they hold back, until Ctrl-C.

    Args:
        times: number of updates; None: no limit.
        as_json: print one line for each update.
    """
    if as_json:
        return _watch_as_json(client, every_s, times)
    from rich.console import Group
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        drawings = 0
        while times is None or drawings < times:
            if drawings:
                time.sleep(every_s)
            open_now = list_transactions(client, states=sorted(OPEN))
            listed = render(_listed(open_now, _now_ms()))
            live.update(Group(listed, render(_lags(client, open_now))), refresh=True)
            drawings += 1
    return 0


def _watch_as_json(client: Client, every_s: float, times: int | None) -> int:
    drawings = 0
    while times is None or drawings < times:
        if drawings:
            time.sleep(every_s)
        open_now = list_transactions(client, states=sorted(OPEN))
        lags = [
            dict(zip(("partition", "last_stable_offset", "end_offset", "lag"), row, strict=True))
            for row in _held_back(client, open_now)
        ]
        print_json({"transactions": [asdict(each) for each in open_now], "held_back": lags})
        sys.stdout.flush()
        drawings += 1
    return 0


def _fail(text: str) -> int:
    """Say why nothing was done, on standard error; return the exit status."""
    print_error(f"ottla: {text}")
    return 1


def _listed(shown: Sequence[Transaction], now_ms: int) -> Table:
    columns = (
        "transactional id", "state", "producer", "epoch", "node", "open for", "timeout",
        "partitions",
    )  # fmt: skip
    rows = []
    for each in shown:
        open_ms = each.open_ms(now_ms)
        rows.append(
            (
                each.transactional_id,
                each.state,
                str(each.producer_id),
                str(each.producer_epoch),
                str(each.coordinator),
                "" if open_ms is None else _duration(open_ms),
                _timeout(each.timeout_ms),
                _some(each.partitions),
            )
        )
    return Table(plural(len(rows), "transactional id", "transactional ids"), columns, rows)


def _lags(client: Client, open_now: Sequence[Transaction]) -> Table:
    rows = [(name, *map(str, numbers)) for name, *numbers in _held_back(client, open_now)]
    return Table("held back", ("partition", "last stable", "end", "lag"), rows)


def _held_back(
    client: Client, open_now: Sequence[Transaction]
) -> Iterator[tuple[str, int, int, int]]:
    """Partitions whose last stable offset is below the high watermark: both, and the lag."""
    for partition in sorted({name for each in open_now for name in each.partitions}):
        topic, _, index = partition.rpartition("-")
        try:
            stable, end = (
                partition_offsets(
                    client, topic, {int(index): LATEST}, isolation=isolation, patience_s=0
                )[int(index)]
                for isolation in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED)
            )
        except ErrorAnswer:
            continue  # the leader moves, or the partition was deleted
        if stable < end:
            yield partition, stable, end, end - stable


def _some(partitions: Sequence[str]) -> str:
    shown = ", ".join(partitions[:3])
    return shown if len(partitions) <= 3 else f"{shown} and {len(partitions) - 3} more"


def _timeout(timeout_ms: int) -> str:
    return "none" if timeout_ms == NO_TIMEOUT_MS else _duration(timeout_ms)


def _duration(duration_ms: int) -> str:
    if duration_ms < 1000:
        return f"{duration_ms} ms"
    seconds = duration_ms / 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
