"""Groups of a running cluster: list, describe, delete; their committed offsets.

Classic groups (JoinGroup) and those of the new protocol (KIP-848) are described by different APIs;
`describe_group` asks for both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ..cluster_client import Client, check
from ..retries import COORDINATOR_MOVES, retried

_GROUP: Final = 0  # the key type in FindCoordinator

Place = tuple[str, int]
"""A topic and the index of one of its partitions."""


class ListedGroup(NamedTuple):
    """A group in a list; `kind` is Kafka's type: Classic, Consumer, Share or Streams."""

    group_id: str
    kind: str
    protocol_type: str
    state: str


class Member(NamedTuple):
    """A member of a group.

    Attributes:
        member_epoch: None in a classic group.
        assigned: its partitions.
        target: the partitions that it is to have; those of a classic group are `assigned`.
        upgraded: it is a member of the new protocol (KIP-1099); None: unknown.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assigned: tuple[Place, ...]
    member_epoch: int | None = None
    target: tuple[Place, ...] = ()
    upgraded: bool | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A group as its coordinator describes it; epochs are None in a classic group."""

    group_id: str
    kind: str
    protocol_type: str
    state: str
    assignor: str
    coordinator: tuple[int, str, int]
    members: tuple[Member, ...]
    group_epoch: int | None = None
    target_epoch: int | None = None


@retried(COORDINATOR_MOVES)
def coordinator_of(client: Client, group_id: str) -> int:
    """The node that coordinates a group; updates `client.brokers`. Raises ErrorAnswer."""
    body = {"key_type": _GROUP, "coordinator_keys": [group_id]}
    (found,) = client.ask(ApiKey.FIND_COORDINATOR, body).coordinators
    check(found.error_code, f"the coordinator of {group_id}", found.error_message)
    client.brokers[found.node_id] = (found.host, found.port)
    return int(found.node_id)


@retried(COORDINATOR_MOVES)
def list_groups(
    client: Client, *, states: Sequence[str] = (), kinds: Sequence[str] = ()
) -> list[ListedGroup]:
    """The groups of all brokers, sorted (ListGroups).

    Args:
        states, kinds: only these; empty: all.

    Raises:
        ErrorAnswer: a broker refuses.
    """
    client.metadata([])
    found = []
    for node_id in sorted(client.brokers):
        body = {"states_filter": list(states), "types_filter": list(kinds)}
        answer = client.ask(ApiKey.LIST_GROUPS, body, node_id=node_id)
        check(answer.error_code, f"node {node_id}")
        found += [
            ListedGroup(
                each.group_id, each.group_type.capitalize(), each.protocol_type, each.group_state
            )
            for each in answer.groups
        ]
    return sorted(found)


@retried(COORDINATOR_MOVES)
def describe_group(client: Client, group_id: str) -> Group:
    """A group with its members.

    Raises:
        ErrorAnswer: GROUP_ID_NOT_FOUND and others.
    """
    node_id = coordinator_of(client, group_id)
    body: dict[str, Any] = {"group_ids": [group_id]}
    (found,) = client.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, body, node_id=node_id).groups
    where = (node_id, *client.brokers[node_id])
    if found.error_code == Code.NONE:
        return Group(
            group_id,
            "Consumer",
            "consumer",
            found.group_state,
            found.assignor_name,
            where,
            tuple(map(_new_member, found.members)),
            found.group_epoch,
            found.assignment_epoch,
        )
    if found.error_code not in (Code.GROUP_ID_NOT_FOUND, Code.UNSUPPORTED_VERSION):
        check(found.error_code, group_id, found.error_message)
    (old,) = client.ask(ApiKey.DESCRIBE_GROUPS, {"groups": [group_id]}, node_id=node_id).groups
    check(old.error_code, group_id, old.error_message)
    members = tuple(map(_classic_member, old.members))
    kind = old.protocol_type or "consumer"
    return Group(group_id, "Classic", kind, old.group_state, old.protocol_data, where, members)


@retried(COORDINATOR_MOVES)
def committed_offsets(client: Client, group_id: str) -> dict[Place, tuple[int, int, str]]:
    """Offset, leader epoch (-1: unknown) and metadata of each committed partition (OffsetFetch).

    Raises:
        ErrorAnswer: the coordinator refuses.
    """
    return offsets_now(client, group_id)


def offsets_now(client: Client, group_id: str) -> dict[Place, tuple[int, int, str]]:
    """As `committed_offsets`, without waiting for a coordinator that moves or loads."""
    node_id = coordinator_of(client, group_id)
    body = {"groups": [{"group_id": group_id, "topics": None}], "require_stable": False}
    (found,) = client.ask(ApiKey.OFFSET_FETCH, body, node_id=node_id).groups
    check(found.error_code, group_id)
    return {
        (topic.name, each.partition_index): (
            each.committed_offset,
            each.committed_leader_epoch,
            each.metadata or "",
        )
        for topic in found.topics
        for each in topic.partitions
        if each.committed_offset >= 0
    }


def next_offsets(client: Client, group_id: str) -> dict[Place, int]:
    """The offsets alone of `committed_offsets`. Raises ErrorAnswer."""
    return {place: each[0] for place, each in committed_offsets(client, group_id).items()}


@retried(COORDINATOR_MOVES)
def commit_offsets(client: Client, group_id: str, offsets: Mapping[Place, int]) -> None:
    """Commit offsets of a group without members (OffsetCommit).

    Raises:
        ErrorAnswer: UNKNOWN_MEMBER_ID if the group has members.
    """
    node_id = coordinator_of(client, group_id)
    topics = [
        {
            "name": topic,
            "partitions": [
                {
                    "partition_index": index,
                    "committed_offset": offsets[topic, index],
                    "committed_metadata": "",
                }
                for index in indexes
            ],
        }
        for topic, indexes in by_topic(offsets).items()
    ]
    body = {"group_id": group_id, "member_id": "", "topics": topics}
    for topic in client.ask(ApiKey.OFFSET_COMMIT, body, node_id=node_id).topics:
        for each in topic.partitions:
            check(each.error_code, f"{topic.name}-{each.partition_index}")


@retried(COORDINATOR_MOVES)
def remove_members(client: Client, group_id: str, member_ids: Sequence[str]) -> None:
    """Remove members from a group (LeaveGroup, KIP-345). Raises ErrorAnswer."""
    node_id = coordinator_of(client, group_id)
    members = [{"member_id": each, "group_instance_id": None} for each in member_ids]
    body = {"group_id": group_id, "members": members}
    answer = client.ask(ApiKey.LEAVE_GROUP, body, node_id=node_id)
    check(answer.error_code, group_id)
    for each in answer.members:
        check(each.error_code, f"{group_id}: {each.member_id}")


@retried(COORDINATOR_MOVES)
def delete_group(client: Client, group_id: str) -> None:
    """Delete a group without members, and its offsets. Raises ErrorAnswer."""
    node_id = coordinator_of(client, group_id)
    body = {"groups_names": [group_id]}
    (done,) = client.ask(ApiKey.DELETE_GROUPS, body, node_id=node_id).results
    check(done.error_code, group_id)


@retried(COORDINATOR_MOVES)
def delete_offsets(client: Client, group_id: str, places: Iterable[Place]) -> dict[Place, int]:
    """Delete committed offsets (OffsetDelete, KIP-496); return the error code of each partition.

    Raises:
        ErrorAnswer: GROUP_ID_NOT_FOUND and others.
    """
    node_id = coordinator_of(client, group_id)
    topics = [
        {"name": topic, "partitions": [{"partition_index": index} for index in indexes]}
        for topic, indexes in by_topic(places).items()
    ]
    body = {"group_id": group_id, "topics": topics}
    answer = client.ask(ApiKey.OFFSET_DELETE, body, node_id=node_id)
    check(answer.error_code, group_id)
    return {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.topics
        for each in topic.partitions
    }


def by_topic(places: Iterable[Place]) -> dict[str, list[int]]:
    """The partitions' indexes by topic."""
    topics: dict[str, list[int]] = defaultdict(list)
    for topic, index in places:
        topics[topic].append(index)
    return topics


def _new_member(found: Any) -> Member:  # Any: part of an answer
    return Member(
        found.member_id,
        found.instance_id,
        found.client_id,
        found.client_host,
        assigned_places(found.assignment),
        found.member_epoch,
        assigned_places(found.target_assignment),
        None if found.member_type < 0 else found.member_type == 1,
    )


def assigned_places(assignment: Any) -> tuple[Place, ...]:  # Any: part of an answer
    """The partitions in an assignment of the protocols with heartbeats."""
    return tuple(
        (topic.topic_name, index)
        for topic in assignment.topic_partitions
        for index in topic.partitions
    )


def _classic_member(found: Any) -> Member:  # Any: part of an answer
    assigned = tuple(read_assignment(bytes(found.member_assignment or b"")))
    return Member(
        found.member_id, found.group_instance_id, found.client_id, found.client_host, assigned
    )


def read_assignment(data: bytes) -> list[Place]:
    """The partitions in a classic member's assignment; none if it is empty or unreadable.

    It is a ConsumerProtocolAssignment: version, then topics with their partitions.
    """
    places = []
    try:
        at, count = 6, int.from_bytes(data[2:6], "big")
        for _ in range(count):
            size = int.from_bytes(data[at : at + 2], "big")
            topic = data[at + 2 : at + 2 + size].decode()
            at += 2 + size
            indexes = int.from_bytes(data[at : at + 4], "big")
            at += 4
            if at + 4 * indexes > len(data):
                return []
            for _ in range(indexes):
                places.append((topic, int.from_bytes(data[at : at + 4], "big")))
                at += 4
    except UnicodeDecodeError:
        return []
    return places
