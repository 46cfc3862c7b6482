"""Clients that go on through every stop; each round writes all kinds of data that a broker keeps.

Producers keep their ids, epochs and sequences, like clients of a restarted broker. Each round
leaves a transaction open and ends the one of the round before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from ..wire.batches import batch
from ..wire.broker import Broker
from ..wire.client import error_name, retrying
from ..wire.groups import Member, subscription
from ..wire.transactions import Producer
from .place import address

CODECS = range(5)
PARTITIONS = 3
LARGE_BYTES = 300_000
# Its records are older than the default retention of a week.
LARGE: dict[str, str | None] = {
    "segment.bytes": "1048576",
    "index.interval.bytes": "1024",
    "retention.ms": "-1",
}
START_MS = 1_700_000_000_000
TIMEOUT_MS = 600_000
OK = "NONE"


@contextmanager
def connected(bootstrap: str) -> Iterator[Broker]:
    """A connection for raw requests."""
    broker = Broker(address(bootstrap), "story")
    try:
        yield broker
    finally:
        broker.close()


class Story:
    """The rounds of the clients, on the present broker of the directory."""

    def __init__(self, seed: int = 1) -> None:
        self.round = 0
        self.producer_ids: set[int] = set()
        self._random = random.Random(seed)
        self._idempotent: Producer | None = None
        self._open: list[Producer] = []
        self._member: Member | None = None
        self._sequence = 0
        self._placed = ("", -1)

    def play(self, bootstrap: str) -> None:
        """Run one round, and check every answer."""
        with connected(bootstrap) as broker:
            broker.find_coordinators()
            self._topics(broker)
            self._plain(broker)
            self._numbered(broker)
            self._end_open(broker)
            self._transactions(broker)
            self._offsets(broker)
            self._stay(broker)
            self._shorten(broker)
            self._leave_open(broker)
        self.round += 1

    def _topics(self, broker: Broker) -> None:
        if self.round == 0:
            for name, configs in (
                ("plain", {"retention.ms": "-1", "message.timestamp.type": "CreateTime"}),
                ("numbered", {}),
                ("large", LARGE),
                ("stamped", {"message.timestamp.type": "LogAppendTime"}),
                ("transactional", {"max.message.bytes": "2000000"}),
            ):
                self._create(broker, name, PARTITIONS, **configs)
        else:
            assert broker.delete_topic(f"round-{self.round - 1}") == OK
        self._create(broker, f"round-{self.round}", 1, **{"retention.ms": "86400000"})
        self._grow(broker, "numbered", PARTITIONS + self.round)
        self._set(broker, "plain", "max.message.bytes", str(1_000_000 + self.round))

    def _create(self, broker: Broker, name: str, partitions: int, **configs: str | None) -> None:
        created = broker.create_raw(name, partitions=partitions, configs=configs)
        assert error_name(created["error_code"]) == OK, created
        for index in range(partitions):
            listed = partial(broker.list_offset, name, partition=index)
            error, *_ = retrying(listed, lambda answer: [answer[0]], transient=COMING)
            assert error == OK

    def _grow(self, broker: Broker, name: str, count: int) -> None:
        topic = {"name": name, "count": count, "assignments": None}
        if self.round:
            body = {"topics": [topic], "timeout_ms": 5000, "validate_only": False}
            answer = broker.call("CreatePartitions", 1, body)["results"][0]
            assert error_name(answer["error_code"]) == OK, answer
            assert retrying(
                lambda: broker.list_offset(name, partition=count - 1)[0], transient=COMING
            ) == OK  # fmt: skip

    def _set(self, broker: Broker, topic: str, name: str, value: str) -> None:
        config = {"name": name, "config_operation": 0, "value": value}
        resource = {"resource_type": 2, "resource_name": topic, "configs": [config]}
        answer = broker.call("IncrementalAlterConfigs", 1, {"resources": [resource]})
        assert error_name(answer["responses"][0]["error_code"]) == OK, answer

    def _plain(self, broker: Broker) -> None:
        for codec in CODECS:
            for index in range(PARTITIONS):
                values = [b"%d %d %d" % (self.round, codec, item) for item in range(3)]
                data = batch(
                    values,
                    keys=[b"k", None, b""],
                    headers=[(b"round", b"%d" % self.round), (b"empty", None)],
                    timestamp=START_MS + self.round * 1000 + codec,
                    timestamp_deltas=[0, 5, 2],
                    compression=codec,
                )
                for topic in ("plain", "stamped"):
                    assert broker.produced(topic, data, index)[0] == OK
        for _ in range(5):
            data = batch([self._random.randbytes(LARGE_BYTES)], timestamp=START_MS + self.round)
            assert broker.produced("large", data)[0] == OK

    def _numbered(self, broker: Broker) -> None:
        """The producer of the first round goes on; a duplicate of its last batch is detected."""
        fresh = broker.idempotent()
        assert fresh.producer_id not in self.producer_ids
        self.producer_ids.add(fresh.producer_id)
        if self._idempotent is None:
            self._idempotent = fresh
        producer = self._idempotent.but(broker=broker)
        if self._sequence:
            again = producer.produce("numbered", [b"last"], sequence=self._sequence - 1)
            assert again == self._placed
        for values in ([b"a", b"b"], [b"c"], [b"last"]):
            self._placed = producer.produce("numbered", values, sequence=self._sequence)
            assert self._placed[0] == OK
            self._sequence += len(values)
        gap = producer.produce("numbered", sequence=self._sequence + 7)[0]
        assert gap == "OUT_OF_ORDER_SEQUENCE_NUMBER"
        assert fresh.produce("numbered", [b"fresh"], partition=1)[0] == OK

    def _transactions(self, broker: Broker) -> None:
        for name, commit in (("commits", True), ("aborts", False)):
            producer = broker.init(name)
            self.producer_ids.add(producer.producer_id)
            parts = {"transactional": list(range(PARTITIONS))}
            assert set(producer.add_all(parts)["transactional"].values()) == {OK}
            for index in range(PARTITIONS):
                values = [b"%s %d %d" % (name.encode(), self.round, item) for item in range(4)]
                assert producer.produce("transactional", values, partition=index)[0] == OK
            assert producer.add_offsets("in transactions") == OK
            offset = self.round * 10 + 5 * commit
            assert producer.commit_offset("in transactions", "transactional", offset) == OK
            assert producer.end(commit=commit) == OK
            assert producer.wait_ended() == ("CompleteCommit" if commit else "CompleteAbort")

    def _offsets(self, broker: Broker) -> None:
        for group in ("plain readers", f"readers of round {self.round}"):
            for index in range(PARTITIONS):
                offset = self.round * 10 + index
                assert broker.commit(group, "plain", offset, partition=index, metadata="m") == OK
        member = broker.stable_member("members", topic="plain")
        assert member.commit("plain", self.round) == OK
        assert member.leave() == [OK, OK]

    def _stay(self, broker: Broker) -> None:
        """A member stays through the stop, and continues in its generation."""
        if self._member is not None:
            member = self._member.but(broker=broker)
            beat = retrying(member.heartbeat)
            assert beat == OK
            assert member.commit("plain", self.round) == OK
            assert member.sync() == [OK, "a"]
            assert member.leave() == [OK, OK]
        protocols = (("range", subscription("plain")),)
        timeouts = {"session_timeout_ms": TIMEOUT_MS, "rebalance_timeout_ms": TIMEOUT_MS}
        member = Member.joined(broker, "lasting", "instance", protocols=protocols, **timeouts)
        assert member.sync([(member.member_id, b"a")])[0] == OK
        self._member = member

    def _shorten(self, broker: Broker) -> None:
        """Let one log begin inside a segment, and one in a later segment."""
        assert broker.delete_records("plain", self.round * 15 + 4, 2)[0] == OK
        assert broker.delete_records("large", self.round * 5 + 3)[0] == OK

    def _leave_open(self, broker: Broker) -> None:
        for name in ("to be committed", "to be aborted", "to be fenced"):
            producer = broker.init(name, TIMEOUT_MS)
            assert producer.add("transactional") == OK
            values = [b"%s %d" % (name.encode(), self.round)] * 2
            assert producer.produce("transactional", values)[0] == OK
            self._open.append(producer)

    def _end_open(self, broker: Broker) -> None:
        """End the transactions of the round before, by their producers and by a successor."""
        if not self._open:
            return
        for producer in self._open:
            assert producer.but(broker=broker).state() == "Ongoing"
        committed, aborted, fenced = (producer.but(broker=broker) for producer in self._open)
        self._open.clear()
        more = [b"more"]
        assert committed.produce("transactional", more, sequence=2)[0] == OK
        for producer, commit in ((committed, True), (aborted, False)):
            assert producer.end(commit=commit) == OK
            assert producer.wait_ended() == ("CompleteCommit" if commit else "CompleteAbort")
        successor = broker.init(fenced.transactional_id)
        assert successor.epoch > fenced.epoch
        assert successor.state() == "Empty"
        late = fenced.produce("transactional", more, sequence=2)[0]
        assert late == "INVALID_PRODUCER_EPOCH"


# Errors of a broker for a new partition.
COMING = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER"})
