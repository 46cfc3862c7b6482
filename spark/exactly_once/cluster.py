"""What the driver asks the brokers: the fates of transactions, their ends, their records."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ...client.admin.offsets import EARLIEST, LATEST, Isolation, partition_offsets
from ...client.admin.transactions import (
    describe_transactions,
    end_txn_version,
    fence,
    list_transactional_ids,
)
from ...client.cluster_client import Client, ErrorAnswer, check
from ...client.fates import Markers
from ...client.log_batches import log_batches
from ...client.retries import patiently
from ...client.security import UNSECURED, ClientSecurity
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ...protocol.uuids import uuid_text
from .tasks import Headers, Span, Task, TransactionKey, row_digest
from .transaction_fates import Described, TransactionFate

_PAUSE_S: Final = 0.005
_ANSWER_S: Final = 15.0
_CLIENT_ID: Final = "ottla-sink"
_IN_PREPARATION: Final = frozenset({"PrepareCommit", "PrepareAbort"})


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


def sink_client(bootstrap_servers: str, security: ClientSecurity = UNSECURED) -> Client:
    """A client of the sink, which connects at its first request.

    Args:
        bootstrap_servers: HOST:PORT, with commas between them.

    Raises:
        ValueError: an address has another form.
    """
    return Client.to(
        bootstrap_servers,
        timeout_s=_ANSWER_S,
        security=security,
        client_id=_CLIENT_ID,
        connects=False,
    )


def offset_at(
    client: Client, topic: str, partition: int, time_ms: int, *, stable: bool = False
) -> int:
    """The offset at a time, LATEST or EARLIEST, also while brokers restart (`patiently`).

    Args:
        stable: LATEST is the last stable offset.

    Raises:
        ErrorAnswer, NoAnswer: see `patiently`.
    """
    isolation = Isolation.READ_COMMITTED if stable else Isolation.READ_UNCOMMITTED
    times_ms = {partition: time_ms}
    return patiently(lambda: partition_offsets(client, topic, times_ms, isolation=isolation))[
        partition
    ]


class ClusterTransactions:
    """The transactions of a cluster.

    Every method repeats its requests while brokers restart (`patiently`), and raises the last
    error afterwards: ErrorAnswer or NoAnswer.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._end_version: int | None = None

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """The ids of topics, by name; a topic that is not there, or has no id, is missing."""
        if not topics:
            return {}
        found = patiently(lambda: self._client.metadata(sorted(topics)))
        return {
            each.name: uuid_text(each.topic_id)
            for each in found
            if not each.error_code and each.topic_id is not None
        }

    def describe(self, transactional_ids: Collection[str]) -> Mapping[str, Described]:
        """What the coordinators know; ids that they do not know are missing."""
        return patiently(lambda: self._described(list(transactional_ids)))

    def _described(self, transactional_ids: list[str]) -> dict[str, Described]:
        found: dict[str, Described] = {}
        if not transactional_ids:
            return found
        for node_id, ids in self._client.transaction_coordinators(transactional_ids).items():
            for each in describe_transactions(self._client, ids, node_id):
                ends_ms = each.started_ms + each.timeout_ms
                found[each.transactional_id] = Described(
                    each.state,
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
            node_id = self._client.transaction_coordinator(name)
            if self._end_version is None:
                self._end_version = end_txn_version(self._client, node_id)
            version = self._end_version
            answer = self._client.ask(ApiKey.END_TXN, body, node_id=node_id, version=version)
            check(answer.error_code, name)

        try:
            patiently(end)
        except ErrorAnswer as refused:
            if refused.code not in (
                Code.INVALID_TXN_STATE, Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED,
                Code.INVALID_PRODUCER_ID_MAPPING,
            ):  # fmt: skip
                raise

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
        patiently(lambda: fence(self._client, transactional_id, timeout_ms=10_000))

    def open_ids(self, *, may_begin: bool = False) -> list[str]:
        """All transactional ids that have an open transaction.

        Args:
            may_begin: also those whose producer has not begun one yet.
        """
        states = ["Ongoing", "Empty"] if may_begin else ["Ongoing"]
        return patiently(lambda: self._in_states(states))

    def _in_states(self, states: list[str]) -> list[str]:
        self._client.connect()
        by_node = list_transactional_ids(self._client, states)
        return sorted(each for ids in by_node.values() for each in ids)

    def fate_in_log(self, task: Task) -> TransactionFate:
        """The fate by the first marker behind the records of the task."""
        for span in task.spans:
            try:
                return self._fate_in(span, task.transaction.producer_id)
            except ErrorAnswer as refused:
                if refused.code != Code.OFFSET_OUT_OF_RANGE:
                    raise
        return TransactionFate.UNKNOWN

    def _fate_in(self, span: Span, producer_id: int) -> TransactionFate:
        topic, partition, first, last = span
        start = offset_at(self._client, topic, partition, EARLIEST)
        if first < start:
            raise ErrorAnswer(Code.OFFSET_OUT_OF_RANGE, f"{topic}-{partition}")
        end = offset_at(self._client, topic, partition, LATEST)
        markers = Markers()
        for batch in log_batches(self._client, topic, partition, first, end):
            if batch.commits is not None:
                markers.add(batch.header, commits=batch.commits)
                found = TransactionFate(markers.fate_behind(producer_id, last))
                if found is not TransactionFate.OPEN:
                    return found
        return TransactionFate.OPEN

    def rows(self, task: Task) -> Iterator[LoggedRow]:
        """The records of a task, whatever the fate of its transaction."""
        producer = (task.transaction.producer_id, task.transaction.producer_epoch)
        for topic, partition, first, last in task.spans:
            for batch in log_batches(self._client, topic, partition, first, last + 1):
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
