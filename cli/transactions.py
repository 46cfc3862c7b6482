"""`ottla txn list|describe|abort|watch`: transactions of a broker, Ottla's or Kafka's.

`abort` ends the open transaction of a transactional id as a new producer of that id would, which
fences the old one. With a partition and a producer id it writes an abort marker instead, as Kafka's
admin client does, for a transaction without a coordinator.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from ..client.admin.offsets import LATEST, Isolation, partition_offsets
from ..client.admin.transactions import (
    NO_TIMEOUT_MS,
    OPEN,
    Transaction,
    fence,
    find_transaction,
    list_transactions,
)
from ..client.cluster_client import Client, ErrorAnswer, check
from ..console.tables import Table, counted, drawn, json_line, line, moment, table, told
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code


def show_list(
    client: Client,
    *,
    states: Sequence[str],
    longer_than_ms: int,
    pattern: str,
    as_json: bool = False,
) -> int:
    """Print the transactional ids; return the exit status."""
    shown = list_transactions(client, states=states, longer_than_ms=longer_than_ms, pattern=pattern)
    if as_json:
        json_line([asdict(each) for each in shown])
        return 0
    table(_listed(shown, _now_ms()))
    return 0


def show(client: Client, transactional_id: str, *, as_json: bool = False) -> int:
    """Print one transactional id. Raises ErrorAnswer if it is unknown."""
    known = find_transaction(client, transactional_id)
    if known is None:
        raise ErrorAnswer(Code.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
    if as_json:
        json_line(asdict(known))
        return 0
    open_ms = known.open_ms(_now_ms())
    line(f"transactional id  {known.transactional_id}")
    line(f"state             {known.state}")
    line(f"producer          {known.producer_id}, epoch {known.producer_epoch}")
    line(f"coordinator       node {known.coordinator}")
    line(f"timeout           {_timeout(known.timeout_ms)}")
    line(f"started           {moment(known.started_ms)}")
    if open_ms is not None:
        left = f", {_duration(max(0, known.timeout_ms - open_ms))} left"
        has_timeout = known.timeout_ms != NO_TIMEOUT_MS
        line(f"open for          {_duration(open_ms)}{left if has_timeout else ''}")
    line(f"partitions        {', '.join(known.partitions) or 'none'}")
    return 0


def abort(client: Client, transactional_id: str, *, as_json: bool = False) -> int:
    """End the open transaction and fence its producer; return 1 if there is none.

    A decided transaction is completed as decided.

    Raises:
        ErrorAnswer: the coordinator refuses; CONCURRENT_TRANSACTIONS if the end takes too long.
    """
    known = find_transaction(client, transactional_id)
    if known is None or known.state not in OPEN:
        state = "not known" if known is None else known.state
        failed(f"{transactional_id} has no open transaction: it is {state}")
        return 1
    epoch = fence(client, transactional_id, timeout_ms=known.timeout_ms)
    decided = known.state == "PrepareCommit"
    if as_json:
        json_line(
            {
                "transactional_id": transactional_id,
                "is_committed": decided,
                "producer_epoch": epoch,
            }
        )
        return 0
    ended = "committed: that was already decided" if decided else "aborted"
    line(f"{transactional_id} is {ended}; its producer is fenced at epoch {epoch}")
    return 0


def abort_on_partition(
    client: Client, topic: str, partition: int, producer_id: int, *, as_json: bool = False
) -> int:
    """Write an abort marker for a producer's open transaction; return 1 if it has none there.

    Raises:
        ErrorAnswer: the partition's leader refuses.
    """
    node_id = client.leader(topic, partition)
    asked = {"topics": [{"name": topic, "partition_indexes": [partition]}]}
    answer = client.ask(ApiKey.DESCRIBE_PRODUCERS, asked, node_id=node_id)
    (found,) = answer.topics[0].partitions
    check(found.error_code, f"{topic}-{partition}")
    hanging = [
        each
        for each in found.active_producers
        if each.producer_id == producer_id and each.current_txn_start_offset >= 0
    ]
    if not hanging:
        failed(f"producer {producer_id} has no open transaction on {topic}-{partition}")
        return 1
    marker = {
        "producer_id": producer_id,
        "producer_epoch": hanging[0].producer_epoch,
        "transaction_result": False,
        "topics": [{"name": topic, "partition_indexes": [partition]}],
        "coordinator_epoch": max(0, hanging[0].coordinator_epoch),
    }
    body = {"markers": [marker]}
    written = client.ask(ApiKey.WRITE_TXN_MARKERS, body, node_id=node_id).markers[0]
    check(written.topics[0].partitions[0].error_code, f"{topic}-{partition}")
    if as_json:
        json_line({"topic": topic, "partition": partition, "producer_id": producer_id})
        return 0
    line(f"the transaction of producer {producer_id} on {topic}-{partition} is aborted")
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
            listed = drawn(_listed(open_now, _now_ms()))
            live.update(Group(listed, drawn(_lags(client, open_now))), refresh=True)
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
        json_line({"transactions": [asdict(each) for each in open_now], "held_back": lags})
        sys.stdout.flush()
        drawings += 1
    return 0


def failed(text: str) -> None:
    """Say why nothing was done, on standard error."""
    told(f"ottla: {text}")


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
    return Table(counted(len(rows), "transactional id", "transactional ids"), columns, rows)


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
