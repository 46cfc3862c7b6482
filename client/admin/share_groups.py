"""Share groups of a running cluster (KIP-932): members, start offsets and lag.

`groups.py` lists and deletes groups of all types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ..cluster_client import Client, ErrorAnswer, check
from ..retries import COORDINATOR_MOVES, retried
from .cluster import api_versions
from .groups import Place, assigned_places, by_topic, coordinator_of

_WITH_LAG: Final = 1
"""The first version of DescribeShareGroupOffsets with the lag."""


class ShareMember(NamedTuple):
    """A member of a share group; `assigned` are its partitions, which others may have too."""

    member_id: str
    rack_id: str | None
    client_id: str
    host: str
    member_epoch: int
    topics: tuple[str, ...]
    assigned: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class ShareGroup:
    """A share group as its coordinator describes it (ShareGroupDescribe).

    Attributes:
        coordinator: node id, host and port.
    """

    group_id: str
    state: str
    assignor: str
    coordinator: tuple[int, str, int]
    members: tuple[ShareMember, ...]
    group_epoch: int
    target_epoch: int


class ShareOffset(NamedTuple):
    """Where a share group is in a partition.

    Attributes:
        start: the first offset that may still be delivered.
        leader_epoch: None if unknown.
        lag: records that are not yet processed (KIP-1226); None if unknown.
    """

    start: int
    leader_epoch: int | None
    lag: int | None


@retried(COORDINATOR_MOVES)
def describe_share_group(client: Client, group_id: str) -> ShareGroup:
    """A share group with its members.

    Raises:
        ErrorAnswer: GROUP_ID_NOT_FOUND, also for a group of another type, and others.
    """
    node_id = coordinator_of(client, group_id)
    body = {"group_ids": [group_id]}
    (found,) = client.ask(ApiKey.SHARE_GROUP_DESCRIBE, body, node_id=node_id).groups
    check(found.error_code, group_id, found.error_message)
    return ShareGroup(
        group_id,
        found.group_state,
        found.assignor_name,
        (node_id, *client.brokers[node_id]),
        tuple(map(_member, found.members)),
        found.group_epoch,
        found.assignment_epoch,
    )


@retried(COORDINATOR_MOVES)
def share_offsets(client: Client, group_id: str) -> dict[Place, ShareOffset | None]:
    """Start offset and lag of each partition of a share group (DescribeShareGroupOffsets).

    A partition whose records the group has not read yet has None. Partitions that the coordinator
    cannot describe are left out, as in Kafka's admin client.

    Raises:
        ErrorAnswer: GROUP_ID_NOT_FOUND and others.
    """
    node_id = coordinator_of(client, group_id)
    api_key = ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS
    version = min(api_versions(client, node_id).get(api_key, (0, 0))[1], _WITH_LAG)
    body = {"groups": [{"group_id": group_id, "topics": None}]}
    (found,) = client.ask(api_key, body, node_id=node_id, version=version).groups
    check(found.error_code, group_id, found.error_message)
    return {
        (topic.topic_name, each.partition_index): _offset(each, has_lag=version >= _WITH_LAG)
        for topic in found.topics
        for each in topic.partitions
        if each.error_code == 0
    }


@retried(COORDINATOR_MOVES)
def alter_share_offsets(client: Client, group_id: str, offsets: Mapping[Place, int]) -> None:
    """Set the start offsets of a share group without members (AlterShareGroupOffsets).

    The group is made if it does not exist.

    Raises:
        ErrorAnswer: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND for a group of another type,
            UNKNOWN_TOPIC_OR_PARTITION and others; the message has the partitions that failed.
    """
    node_id = coordinator_of(client, group_id)
    topics = [
        {
            "topic_name": topic,
            "partitions": [
                {"partition_index": index, "start_offset": offsets[topic, index]}
                for index in indexes
            ],
        }
        for topic, indexes in by_topic(offsets).items()
    ]
    body = {"group_id": group_id, "topics": topics}
    answer = client.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, body, node_id=node_id)
    check(answer.error_code, group_id, answer.error_message)
    failed = [
        (f"{topic.topic_name}-{each.partition_index}", each)
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code
    ]
    if failed:
        _, first = failed[0]
        names = ", ".join(name for name, _ in failed)
        raise ErrorAnswer(first.error_code, names, first.error_message)


@retried(COORDINATOR_MOVES)
def delete_share_offsets(
    client: Client, group_id: str, topics: Iterable[str]
) -> dict[str, ErrorAnswer | None]:
    """Delete the offsets of topics of a share group without members (DeleteShareGroupOffsets).

    Returns:
        Why a topic was refused, by topic; None: its offsets are deleted.

    Raises:
        ErrorAnswer: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND and others.
    """
    node_id = coordinator_of(client, group_id)
    body = {"group_id": group_id, "topics": [{"topic_name": each} for each in topics]}
    answer = client.ask(ApiKey.DELETE_SHARE_GROUP_OFFSETS, body, node_id=node_id)
    check(answer.error_code, group_id, answer.error_message)
    return {
        each.topic_name: ErrorAnswer(each.error_code, each.topic_name, each.error_message)
        if each.error_code
        else None
        for each in answer.responses
    }


def _offset(found: Any, *, has_lag: bool) -> ShareOffset | None:  # Any: part of an answer
    if found.start_offset < 0:
        return None
    return ShareOffset(
        found.start_offset,
        None if found.leader_epoch < 0 else found.leader_epoch,
        found.lag if has_lag and found.lag >= 0 else None,
    )


def _member(found: Any) -> ShareMember:  # Any: part of an answer
    return ShareMember(
        found.member_id,
        found.rack_id,
        found.client_id,
        found.client_host,
        found.member_epoch,
        tuple(found.subscribed_topic_names),
        assigned_places(found.assignment),
    )
