"""`ottla txn list|describe|abort|watch`: transactions of a broker, Ottla's or Kafka's.

`abort` ends the open transaction of a transactional id as a new producer of that id would, which
fences the old one. With a partition and a producer id it writes an abort marker instead, as Kafka's
admin client does, for a transaction without a coordinator.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from ottla.admin_offsets import LATEST, Isolation, partition_offsets
from ottla.client import Client, ErrorAnswer, check
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code
from ottla.retries import COORDINATOR_MOVES, retried
from ottla.tables import Table, counted, drawn, json_line, line, moment, table, told

OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})
_NO_TIMEOUT_MS: Final = 0x7FFFFFFF
"""The timeout of a transaction in two phases, which has none (KIP-939)."""
_DEFAULT_TIMEOUT_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id, as its coordinator describes it.

    Attributes:
        started_ms: start time of its last transaction; -1 if there was none.
        partitions: partitions of its open transaction, as TOPIC-INDEX.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    coordinator: int
    partitions: Sequence[str] = field(default=())

    def open_ms(self, now_ms: int) -> int | None:
        """The age of its open transaction; None if none is open."""
        if self.state not in OPEN or self.started_ms < 0:
            return None
        return max(0, now_ms - self.started_ms)


@retried(COORDINATOR_MOVES)
def found(
    client: Client, *, states: Sequence[str] = (), longer_than_ms: int = -1, pattern: str = ""
) -> list[Transaction]:
    """The transactional ids of all coordinators that match every filter, sorted."""
    every = []
    for node_id in client.brokers:
        body = {"state_filters": list(states), "producer_id_filters": []}
        answer = client.ask(ApiKey.LIST_TRANSACTIONS, body, node_id=node_id)
        check(answer.error_code, f"node {node_id}")
        if answer.unknown_state_filters:
            raise ErrorAnswer(Code.INVALID_REQUEST, f"no state {answer.unknown_state_filters[0]}")
        ids = [each.transactional_id for each in answer.transaction_states]
        wanted = [each for each in ids if re.search(pattern, each)]
        every += described(client, wanted, node_id) if wanted else []
    now_ms = _now_ms()
    if longer_than_ms >= 0:
        every = [each for each in every if (each.open_ms(now_ms) or -1) > longer_than_ms]
    return sorted(every, key=lambda each: each.transactional_id)


def described(client: Client, transactional_ids: Sequence[str], node_id: int) -> list[Transaction]:
    """Descriptions by a coordinator, without ids that expired meanwhile. Raises ErrorAnswer."""
    body = {"transactional_ids": list(transactional_ids)}
    every = []
    for each in client.ask(ApiKey.DESCRIBE_TRANSACTIONS, body, node_id=node_id).transaction_states:
        if each.error_code == Code.TRANSACTIONAL_ID_NOT_FOUND:
            continue
        check(each.error_code, each.transactional_id)
        partitions = [
            f"{topic.topic}-{index}" for topic in each.topics for index in sorted(topic.partitions)
        ]
        every.append(
            Transaction(
                each.transactional_id,
                each.transaction_state,
                each.producer_id,
                each.producer_epoch,
                each.transaction_timeout_ms,
                each.transaction_start_time_ms,
                node_id,
                partitions,
            )
        )
    return every


@retried(COORDINATOR_MOVES)
def looked_up(client: Client, transactional_id: str) -> Transaction | None:
    """One transactional id; None if its coordinator does not know it. Raises ErrorAnswer."""
    node_id = client.transaction_coordinator(transactional_id)
    return next(iter(described(client, [transactional_id], node_id)), None)


@retried(COORDINATOR_MOVES | {Code.CONCURRENT_TRANSACTIONS})
def fence(client: Client, transactional_id: str, *, timeout_ms: int) -> int:
    """End the open transaction as a new producer would (InitProducerId); return its epoch.

    Args:
        timeout_ms: the transaction timeout of the new producer.

    Raises:
        ErrorAnswer: the coordinator refuses; CONCURRENT_TRANSACTIONS if the end takes too long.
    """
    body = init_body(transactional_id, timeout_ms)
    node_id = client.transaction_coordinator(transactional_id)
    answer = client.ask(ApiKey.INIT_PRODUCER_ID, body, node_id=node_id)
    check(answer.error_code, transactional_id)
    return int(answer.producer_epoch)


def init_body(transactional_id: str, timeout_ms: int = _DEFAULT_TIMEOUT_MS) -> dict[str, Any]:
    """The fields of InitProducerId 4. A request cannot name the timeout of two-phase commit."""
    return {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": (
            _DEFAULT_TIMEOUT_MS if timeout_ms == _NO_TIMEOUT_MS else timeout_ms
        ),
        "producer_id": -1,
        "producer_epoch": -1,
    }


def show_list(
    client: Client,
    *,
    states: Sequence[str],
    longer_than_ms: int,
    pattern: str,
    as_json: bool = False,
) -> int:
    """Print the transactional ids; return the exit status."""
    shown = found(client, states=states, longer_than_ms=longer_than_ms, pattern=pattern)
    if as_json:
        json_line([asdict(each) for each in shown])
        return 0
    table(_listed(shown, _now_ms()))
    return 0


def show(client: Client, transactional_id: str, *, as_json: bool = False) -> int:
    """Print one transactional id. Raises ErrorAnswer if it is unknown."""
    known = looked_up(client, transactional_id)
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
        has_timeout = known.timeout_ms != _NO_TIMEOUT_MS
        line(f"open for          {_duration(open_ms)}{left if has_timeout else ''}")
    line(f"partitions        {', '.join(known.partitions) or 'none'}")
    return 0


def abort(client: Client, transactional_id: str, *, as_json: bool = False) -> int:
    """End the open transaction and fence its producer; return 1 if there is none.

    A decided transaction is completed as decided.

    Raises:
        ErrorAnswer: the coordinator refuses; CONCURRENT_TRANSACTIONS if the end takes too long.
    """
    known = looked_up(client, transactional_id)
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
            open_now = found(client, states=sorted(OPEN))
            listed = drawn(_listed(open_now, _now_ms()))
            live.update(Group(listed, drawn(_lags(client, open_now))), refresh=True)
            drawings += 1
    return 0


def _watch_as_json(client: Client, every_s: float, times: int | None) -> int:
    drawings = 0
    while times is None or drawings < times:
        if drawings:
            time.sleep(every_s)
        open_now = found(client, states=sorted(OPEN))
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
    return "none" if timeout_ms == _NO_TIMEOUT_MS else _duration(timeout_ms)


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
