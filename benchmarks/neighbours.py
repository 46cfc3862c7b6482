"""What others do in the scenes of bench_neighbours.py, while the good client measures."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.loop_lag_scenes import GZIP, INCREMENTAL_SET, MANY, error_codes, names, produce
from ottla.testing import Ottla
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import decode, encode, error_name

ANSWER_TIMEOUT_S: Final = 60.0
THOUSAND: Final = 1_000
SLOW_FSYNC_MS: Final = 400
PATTERN_CHARACTERS: Final = 7_500  # the broker takes 8,192 for one subscription
SETTINGS: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "log.cleaner.backoff.ms": "100",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}


class Neighbour:
    """A connection that does what a scene wants, and looks at the first answer of each kind.

    Args:
        running: the broker, whose disk a scene makes slow.
    """

    def __init__(self, running: Ottla) -> None:
        self.running = running
        host, port = running.bootstrap_servers.rsplit(":", 1)
        self.broker = Broker((host, int(port)), "neighbour")
        self._seen: set[tuple[str, str]] = set()

    def close(self) -> None:
        """Close the connection."""
        self.broker.close()

    def send(self, frame: bytes) -> bytes:
        """Send an encoded request and return the frame of its answer."""
        self.broker.connection.send_raw(frame)
        return self.broker.connection.frame(ANSWER_TIMEOUT_S)

    def ask(self, api: str, version: int, frame: bytes, *, kind: str = "") -> bytes:
        """Send a request; its first answer of a kind must have no errors."""
        answer = self.send(frame)
        if (api, kind) not in self._seen:
            self._seen.add((api, kind))
            errors = {*map(error_name, error_codes(decode(api, version, answer)))} - {"NONE"}
            assert not errors, f"{api} {kind}: {errors}"
        return answer

    def create(self, topics: list[str], partitions: int = 1, **configs: str) -> None:
        """Create topics by one request."""
        self.ask("CreateTopics", 5, creation(topics, partitions, **configs), kind=topics[0])


def creation(topics: list[str], partitions: int = 1, **configs: str) -> bytes:
    """The frame of a CreateTopics."""
    given = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    wanted = [
        {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": given}
        for name in topics
    ]
    body = {"topics": wanted, "timeout_ms": 60_000}
    return encode("CreateTopics", 5, body, correlation_id=1)


def deletion(topics: list[str]) -> bytes:
    """The frame of a DeleteTopics."""
    body = {"topic_names": topics, "timeout_ms": 60_000}
    return encode("DeleteTopics", 5, body, correlation_id=1)


Turn = Callable[[], object]


def nothing(its: Neighbour) -> Turn:
    """No other client: what the machine itself costs."""
    return lambda: time.sleep(0.05)


def delete_records(its: Neighbour) -> Turn:
    """A record into each of 1,000 partitions, and DeleteRecords of all."""
    its.create(["wide"], THOUSAND)
    written = produce("wide", batch([b"x" * 100]), range(THOUSAND))
    at = [{"partition_index": index, "offset": -1} for index in range(THOUSAND)]
    body = {"timeout_ms": 60_000, "topics": [{"name": "wide", "partitions": at}]}
    deleted = encode("DeleteRecords", 2, body, correlation_id=1)

    def turn() -> None:
        its.ask("Produce", 9, written)
        its.ask("DeleteRecords", 2, deleted)

    return turn


def heartbeats(group: str, topics: list[str]) -> Iterator[bytes]:
    """Two members join a consumer group, and both leave."""
    for member, epoch in (("m0", 0), ("m1", 0), ("m0", -1), ("m1", -1)):
        joins = {"rebalance_timeout_ms": 60_000, "topic_partitions": []}
        body = {
            "group_id": group, "member_id": member, "member_epoch": epoch, "instance_id": None,
            "rack_id": None, "rebalance_timeout_ms": -1, "subscribed_topic_names": None,
            "subscribed_topic_regex": None, "server_assignor": None, "topic_partitions": None,
            **(joins | {"subscribed_topic_names": topics} if epoch == 0 else {}),
        }  # fmt: skip
        yield encode("ConsumerGroupHeartbeat", 1, body, correlation_id=1)


def _join(its: Neighbour, topics: list[str]) -> Turn:
    groups = itertools.count()

    def turn() -> None:
        for frame in heartbeats(f"g{next(groups)}", topics):
            its.ask("ConsumerGroupHeartbeat", 1, frame)

    return turn


def join_partitions(its: Neighbour) -> Turn:
    """Consumer groups of two members, of one topic of 10,000 partitions."""
    its.create(["big"], MANY)
    return _join(its, ["big"])


def join_topics(its: Neighbour) -> Turn:
    """Consumer groups of two members, of 10,000 topics of one partition."""
    for first in range(0, MANY, THOUSAND):
        its.create(names(MANY)[first : first + THOUSAND])
    return _join(its, names(MANY))


def alter_configs(its: Neighbour) -> Turn:
    """IncrementalAlterConfigs of four client metrics subscriptions, 30 KB of patterns together."""
    patterns = {
        "names": "|".join(f"client-{number:05}" for number in range(PATTERN_CHARACTERS // 13)),
        "classes": "[a-z0-9]" * (PATTERN_CHARACTERS // 8),
        "nested": ("(a|" * 50 + "b" + ")" * 50) * (PATTERN_CHARACTERS // 201),
        "plain": "a" * PATTERN_CHARACTERS,
    }
    frames = [
        encode("IncrementalAlterConfigs", 1, {"validate_only": False, "resources": [
            {"resource_type": 16, "resource_name": f"s-{name}", "configs": [
                {"name": "match", "value": f"client_id={number}{pattern}",
                 "config_operation": INCREMENTAL_SET}]}
            for name, pattern in patterns.items()]}, correlation_id=1)
        for number in range(20)
    ]  # fmt: skip
    rounds = itertools.cycle(frames)  # a pattern that is set already needs no work
    return lambda: its.ask("IncrementalAlterConfigs", 1, next(rounds))


def compact(its: Neighbour) -> Turn:
    """Records with keys of a compacted topic, whose segments are cleaned again and again."""
    its.create(["compact"], 1, cleanup_policy="compact", max_message_bytes="8000000",
               segment_bytes="4000000", min_cleanable_dirty_ratio="0.01")  # fmt: skip
    frames = [
        produce("compact", batch([b"x" * 100] * 2_000, compression=compression, keys=[
            b"k%d" % (number * 37 % 5_000 + turn) for number in range(2_000)]), [0])
        for turn in range(20) for compression in (0, GZIP)
    ]  # fmt: skip
    rounds = itertools.cycle(frames)

    def turn() -> None:
        its.ask("Produce", 9, next(rounds))
        time.sleep(0.01)

    return turn


def roll(its: Neighbour) -> Turn:
    """A record into each of 100 partitions, which all roll; old segments are deleted."""
    its.create(["rolls"], 100, segment_ms="1", retention_ms="1000")
    frame = produce("rolls", batch([b"x" * 100], timestamp=1_000_000), range(100))

    def turn() -> None:
        its.ask("Produce", 9, frame)
        time.sleep(0.05)

    return turn


def delete_topics(its: Neighbour) -> Turn:
    """1,000 topics of a partition and one of 10,000 are created and deleted."""
    frames = []
    for topics, partitions in ((names(THOUSAND), 1), (["big"], MANY)):
        frames.append(("CreateTopics", creation(topics, partitions)))
        frames.append(("DeleteTopics", deletion(topics)))

    def turn() -> None:
        for number, (api, frame) in enumerate(frames):
            its.ask(api, 5, frame, kind=str(number))

    return turn


def alter_credentials(its: Neighbour) -> Turn:
    """AlterUserScramCredentials of 10,000 users."""
    users = [
        {"name": f"u{number}", "mechanism": 1, "iterations": 4096, "salt": b"s" * 16,
         "salted_password": b"p" * 32} for number in range(MANY)
    ]  # fmt: skip
    body: dict[str, Any] = {"deletions": [], "upsertions": users}
    frame = encode("AlterUserScramCredentials", 0, body, correlation_id=1)
    return lambda: its.ask("AlterUserScramCredentials", 0, frame)


def checkpoint(its: Neighbour) -> Turn:
    """Records into 10,000 topics, whose offsets are written to checkpoints every second."""
    for first in range(0, MANY, THOUSAND):
        its.create(names(MANY)[first : first + THOUSAND])
    records = [{"index": 0, "records": batch([b"x"])}]
    frames = [
        encode("Produce", 9, {
            "transactional_id": None, "acks": -1, "timeout_ms": 60_000,
            "topic_data": [{"name": name, "partition_data": records}
                           for name in names(MANY)[first : first + THOUSAND]]}, correlation_id=1)
        for first in range(0, MANY, THOUSAND)
    ]  # fmt: skip
    rounds = itertools.cycle(frames)

    def turn() -> None:
        its.ask("Produce", 9, next(rounds))
        time.sleep(0.2)

    return turn


def slow_fsync(its: Neighbour) -> Turn:
    """Records of a topic with flush.messages=1, whose fsync takes 400 ms."""
    its.create(["synced"], 1, flush_messages="1")
    match = {"topic": "synced"}
    its.running.faults.add("disk", error="slow_fsync", ms=SLOW_FSYNC_MS, match=match)
    frame = produce("synced", batch([b"x" * 100]), [0])

    def turn() -> None:
        began_s = time.monotonic()
        its.ask("Produce", 9, frame)
        assert time.monotonic() - began_s > SLOW_FSYNC_MS / 1000, "the fsync is not slow"

    return turn


@dataclass(frozen=True, slots=True)
class Scene:
    """What others do.

    Attributes:
        name: for the table.
        prepare: makes what the scene needs; returns what is then done again and again.
    """

    name: str
    prepare: Callable[[Neighbour], Turn]


SCENES: Final[dict[str, Scene]] = {
    "nothing": Scene("no other client", nothing),
    "records": Scene("DeleteRecords of 1,000 partitions, and records for them", delete_records),
    "group": Scene("members join and leave a group of 10,000 partitions", join_partitions),
    "topics-group": Scene("members join and leave a group of 10,000 topics", join_topics),
    "configs": Scene("settings with 30 KB of regular expressions", alter_configs),
    "compaction": Scene("records with keys, compacted all the time", compact),
    "rolls": Scene("100 partitions roll their segments 20 times a second", roll),
    "topics": Scene("1,000 topics, and one of 10,000 partitions, come and go", delete_topics),
    "fsync": Scene("a topic with flush.messages=1 whose fsync takes 400 ms", slow_fsync),
    "credentials": Scene("AlterUserScramCredentials of 10,000 users", alter_credentials),
    "checkpoints": Scene("records for 10,000 topics, and their checkpoints", checkpoint),
}
