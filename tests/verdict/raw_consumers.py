"""More clients of raw requests: header, back-off, coordinators, leader epochs, assignments.

For each rule one that obeys it and one that breaks it, as in `raw_clients`.
"""

from __future__ import annotations

from typing import Any

from tests.wire.client import encode_body, framed, header
from tests.wire.consumers import Consumer
from tests.wire.groups import Member, assignment, subscription

from .raw_clients import Play, Stage

_METADATA = 3


def _request(stage: Stage, *, flexible: bool) -> None:
    begin = header(_METADATA, 12, flexible=flexible)
    frame = framed(begin + encode_body("Metadata", 12, {"topics": []}))
    stage.wire.outcome_of(frame, "Metadata", 12)


def _refused_batch(stage: Stage, *waits_ms: int) -> None:
    topic = stage.wire.topic()
    data = stage.wire.idempotent().batch()
    stage.refuse("Produce", "NOT_ENOUGH_REPLICAS", len(waits_ms))
    stage.wire.produced(topic, data)
    for wait_ms in waits_ms:
        stage.later(wait_ms)
        stage.wire.produced(topic, data)


def _broken_connection(stage: Stage, *, looks: bool) -> None:
    topic = stage.wire.topic()
    match = {"api": "OffsetCommit", "times": 1}
    stage.ottla.faults.add("drop_answer", close=True, match=match)
    offset = {"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}
    commit = {"group_id": "g", "topics": [{"name": topic, "partitions": [offset]}]}
    lost = stage.wire.connect()
    lost.send("OffsetCommit", 6, commit)
    stage.ottla.wait_for(lambda: stage.ottla.trace.where(kind="connection_closed"))
    stage.later()
    again = stage.wire.connect()
    if looks:
        again.call("FindCoordinator", 2, {"key": "g", "key_type": 0})
    again.call("OffsetCommit", 6, commit)


def _reset(stage: Stage, offset: int) -> None:
    topic = stage.wire.filled_topic(3)
    stage.wire.fetch(topic, 99)
    stage.later()
    stage.wire.list_offset(topic, -2)
    stage.wire.fetch(topic, offset)


def _leader_epoch(stage: Stage, epoch: int) -> None:
    topic = stage.wire.filled_topic()
    stage.metadata(topic)
    stage.later(1000)
    stage.wire.fetch_raw([(topic, 0, 0)], leader_epoch=epoch)


def _new_leader(stage: Stage, *, asks: bool) -> None:
    topic = stage.wire.filled_topic()
    stage.wire.fetch_raw([(topic, 0, 0)], leader_epoch=0)
    if asks:
        partition = {"partition": 0, "current_leader_epoch": 1, "leader_epoch": 0}
        body = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [partition]}]}
        stage.wire.call("OffsetForLeaderEpoch", 3, body)
    stage.wire.fetch_raw([(topic, 0, 3)], leader_epoch=1)


def _rebalance(stage: Stage, wait_ms: int) -> None:
    member = stage.wire.stable_member(stage.wire.fresh("g"))
    stage.refuse("Heartbeat", "REBALANCE_IN_PROGRESS")
    member.heartbeat()
    stage.later(wait_ms)
    member.heartbeat()


def _synced(stage: Stage, member: Member, topic: str, *partitions: int) -> None:
    member.sync([(member.member_id, assignment(topic, *partitions))])


def _revoked(stage: Stage, *, fetches: bool) -> None:
    topic = stage.wire.topic(2)
    group = stage.wire.fresh("g")
    protocols = (("range", subscription(topic)),)
    member = Member.joined(stage.wire, group, protocols=protocols)
    _synced(stage, member, topic, 0, 1)
    stage.wire.fetch_raw([(topic, 0, 0), (topic, 1, 0)])
    joined = member.rejoin_raw(protocols=protocols)
    _synced(stage, member.but(generation_id=joined["generation_id"]), topic, 0)
    stage.later()
    stage.wire.fetch_raw([(topic, 0, 0), *([(topic, 1, 0)] if fetches else [])])


def _assigned(stage: Stage) -> Consumer:
    topic = stage.wire.filled_topic()
    consumer = Consumer(stage.wire, stage.wire.fresh("g"), "member-of-" + topic, [topic])
    consumer.join()
    stage.ottla.wait_for(lambda: consumer.owned or (consumer.beat() and consumer.owned))
    stage.later()
    return consumer


def _acknowledged(stage: Stage, *, first: bool) -> None:
    consumer = _assigned(stage)
    if first:
        consumer.report()
    stage.wire.fetch(consumer.topics[0])


def _consumer_beats(stage: Stage, wait_ms: int) -> None:
    consumer = _assigned(stage)
    stage.later(wait_ms)
    consumer.beat()


def _pair(play: Any, right: dict[str, Any], wrong: dict[str, Any]) -> tuple[Play, Play]:
    return lambda stage: play(stage, **right), lambda stage: play(stage, **wrong)


PLAYS: dict[str, tuple[Play, Play]] = {
    "request-readable": _pair(_request, {"flexible": True}, {"flexible": False}),
    "backoff-grows": (
        lambda stage: _refused_batch(stage, 100, 200, 400),
        lambda stage: _refused_batch(stage, 100, 100, 100),
    ),
    "coordinator-looked-up-again": _pair(_broken_connection, {"looks": True}, {"looks": False}),
    "reset-to-listed-offset": _pair(_reset, {"offset": 0}, {"offset": 1}),
    "leader-epoch-sent": _pair(_leader_epoch, {"epoch": 0}, {"epoch": -1}),
    "position-validated": _pair(_new_leader, {"asks": True}, {"asks": False}),
    "heartbeat-in-rebalance": _pair(_rebalance, {"wait_ms": 3000}, {"wait_ms": 11_000}),
    "revoked-not-fetched": _pair(_revoked, {"fetches": False}, {"fetches": True}),
    "acknowledged-before-fetch": _pair(_acknowledged, {"first": True}, {"first": False}),
    "heartbeat-at-interval": _pair(_consumer_beats, {"wait_ms": 3000}, {"wait_ms": 11_000}),
}
"""For each rule: the client that obeys it, and the one that breaks it."""
