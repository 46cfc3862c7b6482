"""A broker for one case: new names, connections, and short calls for usual requests.

Results are normalized: error names instead of codes, and only the fields that cases use. Calls that
end in `_raw` return the first answer; the others retry transient errors.
"""

from __future__ import annotations

import itertools
import random
import re
import string
import uuid
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from .batches import Batch, batch, batches_in, marker
from .client import (
    ANSWER_TIMEOUT_S,
    Address,
    Answer,
    Body,
    Closed,
    Connection,
    NoAnswer,
    error_name,
    retrying,
    until,
)
from .groups import Member
from .transactions import Producer

NO_SUCH_TOPIC = "no-such-topic-w"
ZERO_ID = uuid.UUID(int=0)

_RUN = "".join(random.choice(string.ascii_lowercase) for _ in range(6))
_COUNTER = itertools.count()

Topic = str | uuid.UUID
"""A topic by name, or by id for the versions that use ids."""


class Broker:
    """The argument of a case. Calls use `connection` unless they get another one."""

    def __init__(self, address: Address, case: str) -> None:
        self.address = address
        self._case = case
        self._connections: list[Connection] = []
        self.topic_ids: dict[str, uuid.UUID] = {}
        self._made: list[str] = []
        self.connection = self.connect()

    def connect(self, timeout_s: float = ANSWER_TIMEOUT_S) -> Connection:
        """Open a further connection, which is closed at the end of the case."""
        connection = Connection(self.address, timeout_s)
        self._connections.append(connection)
        return connection

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()

    def delete_topics(self) -> None:
        """Delete the topics of the case, because many cases share one broker."""
        # Cases also try to create internal topics and others that they do not own.
        names = sorted({name for name in self._made if name.startswith(f"w{_RUN}")})
        if names:
            body = {"topic_names": names, "timeout_ms": 5000}
            self.connect().call("DeleteTopics", 5, body)

    def find_coordinators(self) -> None:
        """Create the internal topics by their first requests."""
        for kind in (0, 1):
            ask = partial(self.call, "FindCoordinator", 3, {"key": "anybody", "key_type": kind})
            answer = retrying(ask, lambda told: [error_name(told["error_code"])], limit_s=20)
            assert answer["error_code"] == 0, answer

    def fresh(self, kind: str = "t") -> str:
        """A name that no other test uses."""
        case = re.sub("[^a-z0-9]+", "-", self._case.lower())[:40]
        return f"w{_RUN}-{kind}{next(_COUNTER):06}-{case}"  # so that later names sort behind

    def call(
        self, api: str, version: int, body: Body | None = None, timeout_s: float | None = None
    ) -> Answer:
        """Send a request and return its answer."""
        return self.connection.call(api, version, body, timeout_s)

    def is_alive(self) -> str:
        """The error name of an ApiVersions on a new connection; NONE if the broker works."""
        return error_name(self.connect().call("ApiVersions", 0)["error_code"])

    def outcome_of(
        self, data: bytes, api: str | None = "ApiVersions", version: int = 0, timeout_s: float = 3.0
    ) -> Any:
        """Send raw bytes on a new connection: 'closed', 'silent' or the answer.

        The answer is decoded; if `api` is None, it is the frame itself.
        """
        connection = self.connect(timeout_s)
        try:
            connection.send_raw(data)
            return connection.receive(api, version)[1] if api else connection.frame()
        except Closed:
            return "closed"
        except NoAnswer:
            return "silent"
        finally:
            connection.close()

    # -- topics

    def create_raw(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        configs: dict[str, str | None] | None = None,
        assignments: Sequence[tuple[int, list[int]]] = (),
        validate_only: bool = False,
        version: int = 7,
    ) -> Answer:
        """CreateTopics for one topic; its part of the answer."""
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": replication_factor,
            "assignments": [
                {"partition_index": index, "broker_ids": brokers} for index, brokers in assignments
            ],
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
        }
        body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": validate_only}
        created: Answer = self.call("CreateTopics", version, body)["topics"][0]
        self._made.append(name)
        return created

    def topic(self, partitions: int = 1, **configs: Any) -> str:
        """A new topic, ready for use; configs have `_` for `.`."""
        name = self.fresh()
        texts: dict[str, str | None] = {k.replace("_", "."): str(v) for k, v in configs.items()}
        created = self.create_raw(name, partitions=partitions, configs=texts)
        assert created["error_code"] == 0, error_name(created["error_code"])

        def is_ready(topic: Answer) -> bool:
            led = [p for p in topic["partitions"] if p["error_code"] == 0 and p["leader_id"] >= 0]
            return topic["error_code"] == 0 and len(led) == partitions

        ready = until(lambda: self.metadata([name], version=12)["topics"][0], is_ready)
        assert is_ready(ready), f"topic {name} is not ready"
        self.topic_ids[name] = ready["topic_id"]
        # Metadata may be ahead of the partition's log, so wait until the leader answers.
        for partition in range(partitions):
            retrying(lambda p=partition: self.list_offset(name, partition=p)[0])  # type: ignore[misc]  # mypy cannot type the default
        return name

    def filled_topic(self, count: int = 3, size: int = 100, **configs: Any) -> str:
        """A new topic of one partition with `count` batches of one record."""
        topic = self.topic(**configs)
        for i in range(count):
            self.produce(topic, batch([b"%d" % i + b"x" * size]))
        return topic

    def metadata(
        self,
        names: Iterable[str] | None = None,
        *,
        ids: Iterable[tuple[uuid.UUID, str | None]] | None = None,
        version: int = 9,
        auto_create: bool = False,
        **fields: Any,
    ) -> Answer:
        """Metadata of topics by name or by id (with a name or None); of all for no names."""
        topics: list[Answer] | None = None
        if ids is not None:
            topics = [{"topic_id": topic_id, "name": name} for topic_id, name in ids]
        elif names is not None:
            topics = [{"name": n} | ({"topic_id": ZERO_ID} if version >= 10 else {}) for n in names]
        body: dict[str, Any] = {"topics": topics, **fields}
        if version >= 4:
            body["allow_auto_topic_creation"] = auto_create
        return self.call("Metadata", version, body)

    def node_id(self) -> int:
        """The id of the broker."""
        return int(self.metadata([])["brokers"][0]["node_id"])

    def delete_topic(self, topic: str) -> str:
        """DeleteTopics for one topic; its error name."""
        body = {"topic_names": [topic], "timeout_ms": 5000}
        return error_name(self.call("DeleteTopics", 5, body)["responses"][0]["error_code"])

    # -- produce

    def produce_raw(
        self,
        parts: Iterable[tuple[Topic, int, bytes | None]],
        *,
        version: int = 11,
        acks: int = -1,
        transactional_id: str | None = None,
        timeout_ms: int = 5000,
    ) -> list[Answer]:
        """Produce (topic, partition, records) each; the partitions' answers, none for acks=0."""
        topics: dict[Topic, list[Answer]] = {}
        for topic, partition, data in parts:
            topics.setdefault(topic, []).append({"index": partition, "records": data})
        key = "topic_id" if version >= 13 else "name"
        body = {
            "transactional_id": transactional_id,
            "acks": acks,
            "timeout_ms": timeout_ms,
            "topic_data": [{key: t, "partition_data": data} for t, data in topics.items()],
        }
        if acks == 0:
            self.connection.send("Produce", version, body)
            return []
        answer = self.call("Produce", version, body)
        return [part for topic in answer["responses"] for part in topic["partition_responses"]]

    def produce(self, topic: Topic, data: bytes, partition: int = 0, **fields: Any) -> Answer:
        """Produce one batch; its partition's answer."""
        return retrying(
            lambda: self.produce_raw([(topic, partition, data)], **fields)[0],
            lambda answer: [error_name(answer["error_code"])],
        )

    def produced(
        self, topic: Topic, data: bytes, partition: int = 0, **fields: Any
    ) -> tuple[str, int]:
        """Produce one batch; error name and base offset."""
        answer = self.produce(topic, data, partition, **fields)
        return error_name(answer["error_code"]), answer["base_offset"]

    # -- fetch

    def fetch_raw(
        self,
        parts: Iterable[tuple[Topic, int, int]],
        *,
        version: int = 12,
        isolation: int = 0,
        max_wait_ms: int = 300,
        min_bytes: int = 0,
        max_bytes: int = 1 << 26,
        partition_max_bytes: int = 1 << 26,
        session: tuple[int, int] = (0, -1),
        forgotten: Iterable[tuple[Topic, list[int]]] = (),
        leader_epoch: int = -1,
        connection: Connection | None = None,
    ) -> Answer:
        """Fetch (topic, partition, offset) each, in a session of (id, epoch)."""
        topics: dict[Topic, list[Answer]] = {}
        for topic, partition, offset in parts:
            part = {
                "partition": partition,
                "fetch_offset": offset,
                "partition_max_bytes": partition_max_bytes,
                "current_leader_epoch": leader_epoch,
            }
            topics.setdefault(topic, []).append(part)
        key = "topic_id" if version >= 13 else "topic"
        body: dict[str, Any] = {
            "max_wait_ms": max_wait_ms,
            "min_bytes": min_bytes,
            "max_bytes": max_bytes,
            "isolation_level": isolation,
            "topics": [{key: topic, "partitions": parts} for topic, parts in topics.items()],
        }
        if version < 15:
            body["replica_id"] = -1
        if version >= 7:
            body["session_id"], body["session_epoch"] = session
            body["forgotten_topics_data"] = [
                {key: topic, "partitions": partitions} for topic, partitions in forgotten
            ]
        return (connection or self.connection).call("Fetch", version, body)

    def fetch(self, topic: Topic, offset: int = 0, partition: int = 0, **fields: Any) -> Answer:
        """Fetch one partition; its answer, with the batches under `batches`."""
        answer = self.fetch_raw([(topic, partition, offset)], **fields)
        part: Answer = answer["responses"][0]["partitions"][0]
        part["batches"] = batches_in(part["records"])
        return part

    def batches(self, topic: Topic, offset: int = 0, partition: int = 0) -> list[Batch]:
        """The batches of a partition, uncommitted ones too."""
        found: list[Batch] = self.fetch(topic, offset, partition)["batches"]
        return found

    def values(self, topic: Topic, isolation: int = 0, partition: int = 0) -> list[str]:
        """The values that a consumer of this isolation level would return."""
        part = self.fetch(topic, 0, partition, isolation=isolation)
        pending = sorted(
            (a["first_offset"], a["producer_id"]) for a in part["aborted_transactions"] or []
        )
        out: list[str] = []
        aborted: set[int] = set()
        for found in part["batches"]:
            while pending and pending[0][0] <= found.last_offset:
                aborted.add(pending.pop(0)[1])
            if found.is_control:
                if marker(found)["type"] == "ABORT":
                    aborted.discard(found.producer_id)
            elif not (isolation and found.is_transactional and found.producer_id in aborted):
                out += [(item.value or b"").decode() for item in found.records]
        return out

    # -- offsets of partitions

    def list_offset(
        self,
        topic: str,
        timestamp: int = -1,
        *,
        partition: int = 0,
        isolation: int = 0,
        version: int = 7,
        **fields: Any,
    ) -> list[Any]:
        """ListOffsets for one partition: error name, offset, timestamp."""
        part = {"partition_index": partition, "timestamp": timestamp, **fields}
        body: dict[str, Any] = {"replica_id": -1, "topics": [{"name": topic, "partitions": [part]}]}
        if version >= 2:
            body["isolation_level"] = isolation
        if version >= 10:
            body["timeout_ms"] = 5000
        answer = self.call("ListOffsets", version, body)["topics"][0]["partitions"][0]
        return [error_name(answer["error_code"]), answer["offset"], answer["timestamp"]]

    def ends(self, topic: str, partition: int = 0) -> list[int]:
        """Last stable offset and high watermark."""
        return [
            self.list_offset(topic, partition=partition, isolation=isolation)[1]
            for isolation in (1, 0)
        ]

    def wait_stable(self, topic: str, offset: int, *, partition: int = 0) -> int:
        """Wait until the last stable offset is at least `offset`, and return it."""
        return until(
            lambda: int(self.list_offset(topic, partition=partition, isolation=1)[1]),
            lambda stable: stable >= offset,
            limit_s=25,
        )

    def delete_records(self, topic: str, offset: int, partition: int = 0) -> list[Any]:
        """DeleteRecords for one partition: error name, low watermark."""
        parts = [{"partition_index": partition, "offset": offset}]
        body = {"topics": [{"name": topic, "partitions": parts}], "timeout_ms": 5000}
        answer = self.call("DeleteRecords", 2, body)["topics"][0]["partitions"][0]
        return [error_name(answer["error_code"]), answer["low_watermark"]]

    # -- producers and transactions (transactions.py)

    def init_raw(
        self, transactional_id: str | None, timeout_ms: int = 60_000, **fields: Any
    ) -> tuple[str, int, int]:
        """InitProducerId: error name, producer id, epoch.

        `fields` may be `version` (4), `producer_id` and `epoch` (both -1).
        """
        version = fields.get("version", 4)
        body: dict[str, Any] = {
            "transactional_id": transactional_id,
            "transaction_timeout_ms": timeout_ms,
        }
        if version >= 3:
            body["producer_id"] = fields.get("producer_id", -1)
            body["producer_epoch"] = fields.get("epoch", -1)
        answer = self.call("InitProducerId", version, body)
        return error_name(answer["error_code"]), answer["producer_id"], answer["producer_epoch"]

    def init(
        self, transactional_id: str | None, timeout_ms: int = 60_000, **fields: Any
    ) -> Producer:
        """Send InitProducerId and retry transient errors until it succeeds."""
        error, producer_id, epoch = retrying(
            lambda: self.init_raw(transactional_id, timeout_ms, **fields),
            lambda answer: [answer[0]],
        )
        assert error == "NONE", f"InitProducerId: {error}"
        return Producer(self, transactional_id or "", producer_id, epoch)

    def idempotent(self) -> Producer:
        """A producer without transactional id."""
        return self.init(None)

    def producer(self, timeout_ms: int = 60_000) -> Producer:
        """A producer with a transactional id of its own, initialised."""
        return self.init(self.fresh("x"), timeout_ms)

    def stranger(self) -> Producer:
        """A producer that no broker knows."""
        return Producer(self, self.fresh("x"), 1_234_567, 0)

    def open_transaction(
        self, topic: str | None = None, count: int = 1, *, timeout_ms: int = 60_000
    ) -> Producer:
        """A producer with an open transaction of `count` records in partition 0 of a topic."""
        producer = self.producer(timeout_ms)
        topic = topic or self.topic()
        assert producer.add(topic) == "NONE"
        assert producer.produce(topic, [b"%d" % i for i in range(count)])[0] == "NONE"
        return producer

    # -- groups and their offsets (groups.py)

    def member(self, group: str, instance: str | None = None, **fields: Any) -> Member:
        """A member that has joined an empty group and not synced yet."""
        return Member.joined(self, group, instance, **fields)

    def stable_member(
        self, group: str, instance: str | None = None, topic: str | None = None
    ) -> Member:
        """The only member of a stable group, subscribed to `topic` or to nothing."""
        return Member.stable(self, group, instance, topic)

    def commit(self, group: str, topic: str, offset: int, **fields: Any) -> str:
        """OffsetCommit of one partition without a member; its error name."""
        return Member(self, group).commit(topic, offset, **fields)

    def offsets(
        self,
        group: str,
        topic: str,
        partitions: Iterable[int] = (0,),
        *,
        require_stable: bool = False,
        version: int = 7,
    ) -> Any:
        """OffsetFetch: [offset, error name] of each partition, or the group's error name."""
        topics = [{"name": topic, "partition_indexes": list(partitions)}]

        def ask() -> Any:
            if version >= 8:
                groups = [{"group_id": group, "topics": topics}]
                body: Answer = {"groups": groups, "require_stable": require_stable}
                answer = self.call("OffsetFetch", version, body)["groups"][0]
            else:
                body = {"group_id": group, "topics": topics}
                if version >= 7:
                    body["require_stable"] = require_stable
                answer = self.call("OffsetFetch", version, body)
            if answer.get("error_code", 0):
                return error_name(answer["error_code"])
            return [
                [part["committed_offset"], error_name(part["error_code"])]
                for part in answer["topics"][0]["partitions"]
            ]

        return retrying(ask, lambda answer: [answer] if isinstance(answer, str) else [])
