"""A client of raw requests that obeys a rule, and one that breaks it, for each rule.

They speak to a broker with a manual clock, so that a client may be late without waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ottla.testing import Ottla
from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.consumers import Consumer, heartbeat_raw
from tests.wire.groups import Member, join_raw


class Stage(NamedTuple):
    """What a client has: a broker, and raw requests to it."""

    ottla: Ottla
    wire: Broker

    def later(self, ms: int = 100) -> None:
        """Let time pass: answers have arrived."""
        self.ottla.clock.advance(ms=ms)

    def refuse(self, api: str, code: str, times: int = 1) -> None:
        """Answer the next requests with an error."""
        self.ottla.faults.add("error", code=code, match={"api": api, "times": times})

    def hold(self, api: str) -> Any:
        """Hold the next request before the broker applies it."""
        return self.ottla.faults.add("hold", match={"api": api, "times": 1})

    def metadata(self, topic: str | None = None) -> None:
        body = {"topics": [{"name": topic}] if topic else None}
        self.wire.call("Metadata", 8, body)


Play = Callable[[Stage], object]
PLAYS: dict[str, tuple[Play, Play]] = {}
"""For each rule: the client that obeys it, and the one that breaks it."""


def _rule(rule_id: str, right: Play, wrong: Play) -> None:
    assert rule_id not in PLAYS
    PLAYS[rule_id] = right, wrong


def _choice(rule_id: str, play: Callable[..., None], *arguments: str, **obeys: bool) -> None:
    """Clients that differ in one choice: by `obeys` the one obeys the rule, the other breaks it."""
    breaks = {name: not value for name, value in obeys.items()}
    _rule(
        rule_id,
        lambda stage: play(stage, *arguments, **obeys),
        lambda stage: play(stage, *arguments, **breaks),
    )


# -- connections


def _throttled(stage: Stage, wait_ms: int) -> None:
    stage.ottla.faults.add("throttle", ms=1000, match={"api": "FindCoordinator", "times": 1})
    stage.wire.call("FindCoordinator", 2, {"key": "x", "key_type": 0})
    stage.later(wait_ms)
    stage.wire.connect().call("Metadata", 8, {"topics": []})
    stage.wire.call("Metadata", 8, {"topics": []})


def _retries(stage: Stage, wait_ms: int) -> None:
    stage.refuse("FindCoordinator", "COORDINATOR_NOT_AVAILABLE", 12)
    for _ in range(12):
        stage.wire.call("FindCoordinator", 2, {"key": "x", "key_type": 0})
        stage.later(wait_ms)


# -- coordinators and leaders


def _wrong_coordinator(stage: Stage, *, looks: bool) -> None:
    stage.refuse("OffsetCommit", "NOT_COORDINATOR")
    topic = stage.wire.topic()
    commit = {"group_id": "g", "topics": [{"name": topic, "partitions": [_offset(0)]}]}
    stage.wire.call("OffsetCommit", 6, commit)
    stage.later()
    if looks:
        stage.wire.call("FindCoordinator", 2, {"key": "g", "key_type": 0})
    stage.wire.call("OffsetCommit", 6, commit)


def _offset(offset: int) -> dict[str, object]:
    return {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}


def _refused_data(stage: Stage, code: str, *, looks: bool) -> None:
    topic = stage.wire.filled_topic()
    stage.ottla.faults.add("error", code=code, match={"api": "Fetch", "topic": topic, "times": 1})
    stage.wire.fetch(topic)
    stage.later()
    if looks:
        stage.metadata(topic)
    stage.wire.fetch(topic)


def _out_of_range(stage: Stage, *, looks: bool) -> None:
    topic = stage.wire.filled_topic()
    stage.wire.fetch(topic, 99)
    stage.later()
    if looks:
        stage.wire.list_offset(topic, -2)
    stage.wire.fetch(topic, 99 if not looks else 0)


# -- producers


def _sequences(stage: Stage, *numbers: int, value: bytes = b"v") -> None:
    topic = stage.wire.topic()
    producer = stage.wire.idempotent()
    for number in numbers:
        producer.produce(topic, [value], sequence=number)


def _retry(stage: Stage, first: list[bytes], second: list[bytes], sequence: int = 0) -> None:
    topic = stage.wire.topic()
    producer = stage.wire.idempotent()
    data = producer.batch(first)
    stage.wire.produced(topic, data)
    stage.wire.produced(
        topic, data if second == first else producer.batch(second, sequence=sequence)
    )


def _acks(stage: Stage, acks: int) -> None:
    topic = stage.wire.topic()
    stage.wire.produce_raw([(topic, 0, stage.wire.idempotent().batch())], acks=acks)


def _batches(stage: Stage, count: int) -> None:
    topic = stage.wire.topic()
    stage.wire.produce_raw([(topic, 0, batch([b"v"]) * count)], version=8)


def _named(stage: Stage, *, transactional: bool) -> None:
    topic = stage.wire.topic()
    producer = stage.wire.producer()
    producer.add(topic)
    data = producer.batch(transactional=transactional)
    stage.wire.produce_raw([(topic, 0, data)], transactional_id=producer.transactional_id)


def _epoch(stage: Stage, difference: int) -> None:
    topic = stage.wire.topic()
    producer = stage.wire.producer()
    producer.add(topic)
    producer.but(epoch=producer.epoch + difference).produce(topic)


# -- transactions


def _transaction(stage: Stage, *, adds: bool = True, commits: bool = True) -> None:
    topic = stage.wire.topic()
    producer = stage.wire.producer()
    producer.add(stage.wire.topic())
    producer.end()
    if adds:
        producer.add(topic)
    producer.produce(topic)
    producer.end(commit=commits)


def _second_version(stage: Stage, *, adds: bool = False, end_version: int = 5) -> None:
    topic = stage.wire.topic()
    producer = stage.wire.producer()
    producer.produce(topic, version=12)
    _, _, epoch = producer.end(version=5)
    producer = producer.but(epoch=epoch)
    if adds:
        # An administrator's request is not in question: it has the producer of the EndTxn before.
        producer.but(epoch=epoch - 1).add_raw({topic: [0]})
    producer.produce(topic, version=12)
    producer.end_raw(version=end_version)


def _end_early(stage: Stage, *, waits: bool) -> None:
    topic = stage.wire.topic()
    producer = stage.wire.producer()
    producer.add(topic)
    held = stage.hold("Produce")
    connection = stage.wire.connect()
    body = {
        "transactional_id": producer.transactional_id, "acks": -1, "timeout_ms": 5000,
        "topic_data": [
            {"name": topic, "partition_data": [{"index": 0, "records": producer.batch()}]}
        ],
    }  # fmt: skip
    connection.send("Produce", 8, body)
    held.wait_held()
    if waits:
        held.release()
        connection.receive("Produce", 8)
    producer.end()
    if not waits:
        held.release()
        connection.receive("Produce", 8)


def _commit_unacknowledged(stage: Stage, *, retries: bool) -> None:
    topic = stage.wire.topic()
    producer = stage.wire.producer()
    producer.add(topic)
    stage.refuse("Produce", "REQUEST_TIMED_OUT")
    data = producer.batch()
    stage.wire.produce_raw([(topic, 0, data)], transactional_id=producer.transactional_id)
    if retries:
        stage.wire.produce_raw([(topic, 0, data)], transactional_id=producer.transactional_id)
    producer.end()


def _fenced(stage: Stage, *, goes_on: bool, after_ms: int = 51) -> None:
    producer = stage.wire.producer()
    topic = stage.wire.topic()
    stage.wire.init(producer.transactional_id)
    producer.add(topic)
    stage.later(after_ms)
    stage.metadata()
    if goes_on:
        producer.add(topic)


def _abortable(stage: Stage, *, commits: bool) -> None:
    topic = stage.wire.topic()
    producer = stage.wire.producer()
    producer.add(topic)
    stage.refuse("AddOffsetsToTxn", "TRANSACTION_ABORTABLE")
    producer.add_offsets("g")
    producer.end(commit=commits)


def _empty_end(stage: Stage, *, works: bool) -> None:
    producer = stage.wire.producer()
    if works:
        producer.add(stage.wire.topic())
    producer.end_raw()


def _offsets(stage: Stage, *, adds: bool = True, member: bool = True) -> None:
    topic = stage.wire.topic()
    group = stage.wire.fresh("g")
    joined = stage.wire.stable_member(group)
    producer = stage.wire.producer()
    if adds:
        producer.add_offsets(group)
    whose: dict[str, Any] = {
        "generation_id_or_member_epoch": joined.generation_id,
        "member_id": joined.member_id,
    }
    producer.commit_offset(group, topic, **(whose if member else {}))
    producer.end_raw()


def _refused_offsets(stage: Stage, *, retries: bool) -> None:
    topic = stage.wire.topic()
    group = stage.wire.fresh("g")
    producer = stage.wire.producer()
    producer.add_offsets(group)
    stage.refuse("TxnOffsetCommit", "INVALID_COMMIT_OFFSET_SIZE")
    producer.commit_offset(group, topic)
    if retries:
        producer.commit_offset(group, topic)
    producer.end()


# -- consumers


def _session(stage: Stage, *epochs: int) -> None:
    topic = stage.wire.filled_topic()
    answer = stage.wire.fetch_raw([(topic, 0, 0)], session=(0, 0))
    for epoch in epochs:
        stage.wire.fetch_raw([], session=(answer["session_id"], epoch))


def _forgotten_session(stage: Stage, *, begins: bool) -> None:
    topic = stage.wire.filled_topic()
    stage.wire.fetch_raw([(topic, 0, 0)], session=(12345, 7))
    stage.wire.fetch_raw([(topic, 0, 0)], session=(0, 0) if begins else (12345, 8))


def _positions(stage: Stage, *offsets: int) -> None:
    topic = stage.wire.filled_topic()
    for offset in offsets:
        stage.wire.fetch(topic, offset)


def _commit_read(stage: Stage, offset: int) -> None:
    topic = stage.wire.filled_topic(3)
    stage.wire.fetch(topic)
    stage.wire.commit(stage.wire.fresh("g"), topic, offset)


# -- groups


def _join(stage: Stage, *, given: bool) -> None:
    group = stage.wire.fresh("g")
    answer = join_raw(stage.wire, group)
    join_raw(stage.wire, group, member_id=answer["member_id"] if given else "")


def _sync(stage: Stage, difference: int) -> None:
    member = stage.wire.member(stage.wire.fresh("g"))
    stage.later()
    generation_id = member.generation_id + difference
    member.but(generation_id=generation_id).sync([(member.member_id, b"a")])


def _assign(stage: Stage, *, everybody: bool) -> None:
    member = stage.wire.member(stage.wire.fresh("g"))
    member.sync([(member.member_id, b"a")] if everybody else [])


def _heartbeats(stage: Stage, wait_ms: int) -> None:
    member = stage.wire.stable_member(stage.wire.fresh("g"))
    member.heartbeat()
    stage.later(wait_ms)
    member.heartbeat()


def _rebalance(stage: Stage, wait_ms: int) -> None:
    group = stage.wire.fresh("g")
    member = stage.wire.stable_member(group)
    stage.refuse("Heartbeat", "REBALANCE_IN_PROGRESS")
    member.heartbeat()
    stage.later(wait_ms)
    member.rejoin_raw()


def _generation(stage: Stage, difference: int) -> None:
    member = stage.wire.stable_member(stage.wire.fresh("g"))
    stage.later()
    member.but(generation_id=member.generation_id + difference).commit(stage.wire.topic(), 0)


def _stale(stage: Stage, code: str, *, goes_on: bool, instance: str | None = None) -> None:
    member = stage.wire.stable_member(stage.wire.fresh("g"), instance)
    stage.refuse("Heartbeat", code)
    member.heartbeat()
    stage.later(51)
    stage.metadata()
    if goes_on:
        member.heartbeat()


def _hang_up(stage: Stage) -> None:
    stage.wire.connection.close()
    stage.ottla.wait_for(lambda: stage.ottla.trace.where(kind="connection_closed"))


def _close(stage: Stage, *, leaves: bool, instance: str | None = None) -> None:
    member = stage.wire.stable_member(stage.wire.fresh("g"), instance)
    if leaves:
        member.leave()
    _hang_up(stage)


# -- groups with the consumer protocol


def _consumer(stage: Stage) -> Consumer:
    topic = stage.wire.topic()
    consumer = Consumer(stage.wire, stage.wire.fresh("g"), "member-of-" + topic, [topic])
    consumer.join()
    return consumer


def _member_epoch(stage: Stage, difference: int) -> None:
    consumer = _consumer(stage)
    consumer.beat(epoch=consumer.epoch + difference)


def _fenced_consumer(stage: Stage, epoch: int) -> None:
    consumer = _consumer(stage)
    stage.refuse("ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH")
    consumer.beat()
    consumer.beat(epoch=epoch, owned={}, rebalance_timeout_ms=1000)


def _short_join(stage: Stage) -> None:
    heartbeat_raw(stage.wire, stage.wire.fresh("g"), "a-member", 0, topic_partitions=[])


def _acknowledge(stage: Stage, *, reports: bool) -> None:
    consumer = _consumer(stage)
    stage.ottla.wait_for(lambda: consumer.beat() and consumer.owned)
    for _ in range(6):
        if reports:
            consumer.report()
        else:
            consumer.beat()


def _member_commit(stage: Stage, difference: int) -> None:
    consumer = _consumer(stage)
    member = Member(stage.wire, consumer.group, consumer.member_id, consumer.epoch + difference)
    member.commit(consumer.topics[0], 0, version=9)


def _consumer_close(stage: Stage, *, leaves: bool) -> None:
    consumer = _consumer(stage)
    if leaves:
        consumer.leave()
    _hang_up(stage)


def _static_consumer(stage: Stage, epoch: int) -> None:
    topic = stage.wire.topic()
    group = stage.wire.fresh("g")
    consumer = Consumer(stage.wire, group, "member-of-" + topic, [topic], instance="instance")
    consumer.join()
    consumer.leave(epoch)


_rule("throttle-obeyed", lambda s: _throttled(s, 1000), lambda s: _throttled(s, 500))
_rule("retries-wait", lambda s: _retries(s, 50), lambda s: _retries(s, 1))
_choice("coordinator-looked-up", _wrong_coordinator, looks=True)
_choice("leader-looked-up", _refused_data, "NOT_LEADER_OR_FOLLOWER", looks=True)
_choice("topic-looked-up", _refused_data, "UNKNOWN_TOPIC_OR_PARTITION", looks=True)
_choice("range-looked-up", _out_of_range, looks=True)
_rule("sequence-without-gap", lambda s: _sequences(s, 0, 1, 2), lambda s: _sequences(s, 0, 2))
_rule("retry-same-bytes", lambda s: _retry(s, [b"a"], [b"a"]), lambda s: _retry(s, [b"a"], [b"b"]))
_rule(
    "sequence-not-reused",
    lambda s: _sequences(s, 0, 1),
    lambda s: _retry(s, [b"a", b"b"], [b"c"], 1),
)
_rule("idempotent-acks-all", lambda s: _acks(s, -1), lambda s: _acks(s, 1))
_rule("one-batch-per-partition", lambda s: _batches(s, 1), lambda s: _batches(s, 2))
_choice("transactional-batch-named", _named, transactional=True)
_rule("new-epoch-begins-at-0", lambda s: _sequences(s, 0), lambda s: _sequences(s, 1))
_rule("epoch-was-given", lambda s: _epoch(s, 0), lambda s: _epoch(s, 1))
_rule("partition-added-first", _transaction, lambda s: _transaction(s, adds=False))
_rule("no-add-in-transactions-v2", _second_version, lambda s: _second_version(s, adds=True))
_rule("transactions-v2-whole", _second_version, lambda s: _second_version(s, end_version=4))
_choice("end-after-answers", _end_early, waits=True)
_choice("commit-after-acks", _commit_unacknowledged, retries=True)
_choice("nothing-after-fencing", _fenced, goes_on=False)
_choice("abort-after-abortable-error", _abortable, commits=False)
_choice("end-of-begun-transaction", _empty_end, works=True)
_rule("offsets-added-first", _offsets, lambda s: _offsets(s, adds=False))
_rule("offsets-with-member", _offsets, lambda s: _offsets(s, member=False))
_choice("commit-after-offsets", _refused_offsets, retries=True)
_rule("session-epoch-grows", lambda s: _session(s, 1, 2), lambda s: _session(s, 1, 3))
_choice("session-begun-again", _forgotten_session, begins=True)
_rule("position-moves", lambda s: _positions(s, 0, 3), lambda s: _positions(s, 0, 0, 0, 0))
_rule("commit-within-read", lambda s: _commit_read(s, 3), lambda s: _commit_read(s, 4))
_choice("join-with-given-id", _join, given=True)
_rule("sync-after-join", lambda s: _sync(s, 0), lambda s: _sync(s, -1))
_choice("leader-assigns-all", _assign, everybody=True)
_rule("heartbeat-in-time", lambda s: _heartbeats(s, 3000), lambda s: _heartbeats(s, 11_000))
_rule("rejoin-in-rebalance", lambda s: _rebalance(s, 100), lambda s: _rebalance(s, 12_000))
_rule("commit-with-current-generation", lambda s: _generation(s, 0), lambda s: _generation(s, 1))
_choice("stale-member-rejoins", _stale, "ILLEGAL_GENERATION", goes_on=False)
_choice("fenced-instance-stops", partial(_stale, instance="i"), "FENCED_INSTANCE_ID", goes_on=False)
_choice("leave-at-close", _close, leaves=True)
_choice("static-member-stays", partial(_close, instance="instance"), leaves=False)
_rule("member-epoch-is-current", lambda s: _member_epoch(s, 0), lambda s: _member_epoch(s, 7))
_rule("fenced-member-rejoins", lambda s: _fenced_consumer(s, 0), lambda s: _fenced_consumer(s, 5))
_rule("join-in-full", _consumer, _short_join)
_choice("assignment-acknowledged", _acknowledge, reports=True)
_rule("commit-with-member-epoch", lambda s: _member_commit(s, 0), lambda s: _member_commit(s, 9))
_choice("leave-heartbeat-at-close", _consumer_close, leaves=True)
_rule("leave-epoch-fits", lambda s: _static_consumer(s, -2), lambda s: _static_consumer(s, -1))
