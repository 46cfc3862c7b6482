"""What the driver asks the brokers: the fates of transactions, their ends, their records."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from .fates import Described, Fate
from .tasks import Headers, Span, Task, TransactionKey, row_digest
from .wire import EARLIEST, LATEST, Refusal, Wire, check, patiently

_PAUSE_S: Final = 0.005
_IN_PREPARATION: Final = frozenset({"PrepareCommit", "PrepareAbort"})
_BUMPS_EPOCHS: Final = 2  # transaction.version (KIP-890)
_LAST_OF_VERSION_1: Final = 4
_OF_VERSION_2: Final = 5


class LoggedRow(NamedTuple):
    """A record of a transaction, as it is in its partition."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def digest(self) -> int:
        """The digest of its row."""
        return row_digest(self.topic, self.key, self.value, self.headers)


class Cluster:
    """The transactions of a cluster.

    Every method repeats its requests while brokers restart (`patiently`), and raises the last
    error afterwards: Refusal or OSError.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self._end_version: int | None = None

    def describe(self, transactional_ids: Collection[str]) -> Mapping[str, Described]:
        """What the coordinators know; ids that they do not know are missing."""
        return patiently(lambda: self._described(list(transactional_ids)))

    def _described(self, transactional_ids: list[str]) -> dict[str, Described]:
        found: dict[str, Described] = {}
        if not transactional_ids:
            return found
        for node_id, ids in self.wire.coordinators(transactional_ids).items():
            body = {"transactional_ids": ids}
            answer = self.wire.ask(ApiKey.DESCRIBE_TRANSACTIONS, body, node_id=node_id)
            for each in answer.transaction_states:
                if each.error_code == Code.TRANSACTIONAL_ID_NOT_FOUND:
                    continue
                check(each.error_code, each.transactional_id)
                ends_ms = each.transaction_start_time_ms + each.transaction_timeout_ms
                found[each.transactional_id] = Described(
                    each.transaction_state,
                    each.producer_id,
                    each.producer_epoch,
                    left_ms=ends_ms - time.time_ns() // 1_000_000,
                )
        return found

    def commit(self, transaction: TransactionKey) -> None:
        """Commit a transaction (EndTxn). A refusal is no error: ask for the fate afterwards."""
        body = {**transaction._asdict(), "committed": True}
        name = transaction.transactional_id

        def end() -> None:
            (node_id,) = self.wire.coordinators([name])
            version = self._version_of_end(node_id)
            answer = self.wire.ask(ApiKey.END_TXN, body, node_id=node_id, version=version)
            check(answer.error_code, name)

        try:
            patiently(end)
        except Refusal as refused:
            if refused.code not in (
                Code.INVALID_TXN_STATE, Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED,
                Code.INVALID_PRODUCER_ID_MAPPING,
            ):  # fmt: skip
                raise

    def _version_of_end(self, node_id: int) -> int:
        """The version of EndTxn: 5 raises the epoch, which fences the task's producer."""
        if self._end_version is None:
            body = {"client_software_name": "ottla", "client_software_version": "1"}
            answer = self.wire.ask(ApiKey.API_VERSIONS, body, node_id=node_id)
            levels = {each.name: each.max_version_level for each in answer.finalized_features or ()}
            newest = {each.api_key: each.max_version for each in answer.api_keys}
            bumps = (
                levels.get("transaction.version", 0) >= _BUMPS_EPOCHS
                and newest[ApiKey.END_TXN] >= _OF_VERSION_2
            )
            self._end_version = _OF_VERSION_2 if bumps else _LAST_OF_VERSION_1
        return self._end_version

    def wait_for_markers(self, transactional_ids: Collection[str]) -> None:
        """Return when none of these transactions waits for its markers."""
        waiting = set(transactional_ids)
        while waiting:
            found = self.describe(waiting)
            waiting = {name for name in found if found[name].state in _IN_PREPARATION}
            if waiting:
                time.sleep(_PAUSE_S)

    def fence(self, transactional_id: str) -> None:
        """Abort the open transaction of an id and fence its producer (InitProducerId)."""
        body = {
            "transactional_id": transactional_id,
            "transaction_timeout_ms": 10_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }

        def init() -> None:
            (node_id,) = self.wire.coordinators([transactional_id])
            answer = self.wire.ask(ApiKey.INIT_PRODUCER_ID, body, node_id=node_id)
            check(answer.error_code, transactional_id)

        patiently(init)

    def open_ids(self, *, may_begin: bool = False) -> list[str]:
        """All transactional ids that have an open transaction.

        Args:
            may_begin: also those whose producer has not begun one yet.
        """
        states = ["Ongoing", "Empty"] if may_begin else ["Ongoing"]
        return patiently(lambda: self._in_states(states))

    def _in_states(self, states: list[str]) -> list[str]:
        found: list[str] = []
        body = {"state_filters": states, "producer_id_filters": []}
        for node_id in self.wire.node_ids():
            answer = self.wire.ask(ApiKey.LIST_TRANSACTIONS, body, node_id=node_id)
            check(answer.error_code, f"node {node_id}")
            found += [each.transactional_id for each in answer.transaction_states]
        return sorted(found)

    def fate_in_log(self, task: Task) -> Fate:
        """The fate by the first marker behind the records of the task."""
        for span in task.spans:
            try:
                return self._fate_in(span, task.transaction.producer_id)
            except Refusal as refused:
                if refused.code != Code.OFFSET_OUT_OF_RANGE:
                    raise
        return Fate.UNKNOWN

    def _fate_in(self, span: Span, producer_id: int) -> Fate:
        topic, partition, first, last = span
        start = patiently(lambda: self.wire.offset(topic, partition, EARLIEST))
        if first < start:
            raise Refusal(Code.OFFSET_OUT_OF_RANGE, f"{topic}-{partition}")
        end = patiently(lambda: self.wire.offset(topic, partition, LATEST))
        for batch in self.wire.batches(topic, partition, first, end):
            is_its_own = batch.header.producer_id == producer_id
            if is_its_own and batch.header.base_offset > last and batch.commits is not None:
                return Fate.COMMITTED if batch.commits else Fate.ABORTED
        return Fate.OPEN

    def rows(self, task: Task) -> Iterator[LoggedRow]:
        """The records of a task, whatever the fate of its transaction."""
        producer = (task.transaction.producer_id, task.transaction.producer_epoch)
        for topic, partition, first, last in task.spans:
            for batch in self.wire.batches(topic, partition, first, last + 1):
                if (batch.header.producer_id, batch.header.producer_epoch) == producer:
                    for record in batch.records:
                        yield LoggedRow(topic, partition, record.key, record.value, record.headers)

    def difference(self, kept: Iterable[Task], fresh: Iterable[Task]) -> Iterator[LoggedRow]:
        """The rows of `fresh` without those of `kept`, each as often as it is left over."""
        left = Counter(row.digest() for task in kept for row in self.rows(task))
        for task in fresh:
            for row in self.rows(task):
                digest = row.digest()
                if left[digest]:
                    left[digest] -= 1
                else:
                    yield row
