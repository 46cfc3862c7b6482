"""The state of a coordinator that its log contains, as plain values to compare."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ottla.coordinator.classic.group import ClassicGroup, State
from ottla.coordinator.consumer.group import ConsumerGroup
from ottla.coordinator.consumer.kind import ConsumerKind
from ottla.coordinator.groups import Groups

_AT_REST = (State.STABLE, State.EMPTY)


def consumer_groups(machine: Groups) -> dict[str, ConsumerGroup]:
    """The consumer groups by their ids."""
    return machine.kind(ConsumerKind).consumer_groups.groups


def check_same(
    what: str, before: Groups, after: Groups, unlogged: Collection[str] = frozenset()
) -> None:
    """Raise AssertionError with the differences.

    Args:
        unlogged: the classic groups without a record in the log.
    """
    left, right = _of_offsets(before), _of_offsets(after)
    assert left == right, f"{what} has different offsets: {right} for {left}"
    left = {key: _of_consumers(group) for key, group in consumer_groups(before).items()}
    right = {key: _of_consumers(group) for key, group in consumer_groups(after).items()}
    assert left == right, f"{what} has different consumer groups: {_difference(left, right)}"
    older = {group.group_id: group for group in before.kinds.classic.groups.values()}
    newer = {group.group_id: group for group in after.kinds.classic.groups.values()}
    for group_id in (older.keys() | newer.keys()) - set(unlogged):
        _check_classic(what, older.get(group_id), newer.get(group_id))


def _check_classic(what: str, before: ClassicGroup | None, after: ClassicGroup | None) -> None:
    if before is None or after is None:
        known = before or after
        assert known is not None
        if before is not None and before.unwritten is not None:
            return  # its first record was never written
        is_nothing = known.state is State.EMPTY and known.protocol_type is None
        assert is_nothing, f"{what} has a different state of {_of_classic(known)}"
        return
    assert after.generation_id <= before.generation_id, (
        f"{what} has generation {after.generation_id} after {before.generation_id}"
    )
    if before.state in _AT_REST and before.unwritten is None:
        left, right = _of_classic(before), _of_classic(after)
        assert left == right, f"{what} has a different group: {_difference(left, right)}"


def _difference(left: dict[str, Any], right: dict[str, Any]) -> str:
    keys = [key for key in {**left, **right} if left.get(key) != right.get(key)]
    return "; ".join(f"{key}: {right.get(key)} for {left.get(key)}" for key in keys)


def _of_offsets(machine: Groups) -> dict[str, Any]:
    offsets = machine._offsets
    return {
        "committed": {
            (group_id, topic, partition): placed.record
            for group_id, topics in offsets._committed.items()
            for topic, partitions in topics.items()
            for partition, placed in partitions.items()
        },
        "pending": {
            (producer_id, group_id, topic, partition): placed.record
            for producer_id, groups in offsets._pending.items()
            for group_id, topics in groups.items()
            for topic, partitions in topics.items()
            for partition, placed in partitions.items()
        },
        "producers": {group_id: set(ids) for group_id, ids in offsets._producers.items() if ids},
    }


def _of_consumers(group: ConsumerGroup) -> dict[str, Any]:
    return {
        "epoch": group.epoch,
        "hash": group.metadata_hash,
        "target epoch": group.target_epoch,
        "members": dict(group.members),
        "targets": {key: dict(target) for key, target in group.targets.items()},
        "owners": group.owners,
        "subscribers": group.subscribers,
        "regexes": group.regexes,
        "resolved": group.resolved,
        "static": group._static_members,
        "partition epochs": group._partition_epochs,
        "assignors": group._assignors,
        "classic": (group._classic_count, group._classic_protocols),
    }


def _of_classic(group: ClassicGroup) -> dict[str, Any]:
    protocol = group.protocol
    members = {
        member.member_id: (
            member.group_instance_id,
            member.client_id,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            member.metadata(protocol) if protocol and member.supports(protocol) else None,
            member.assignment,
        )
        for member in group.members.values()
    }
    return {
        "state": group.state,
        "since": group.state_timestamp_ms,
        "type": group.protocol_type or None,
        "protocol": protocol,
        "generation": group.generation_id,
        "leader": group.leader,
        "members": members,
        "static": group._static_members if members else {},
        "topics": group.subscribed_topics if members else None,
    }
