"""The groups of a cluster, of all kinds: a list, and one group with members and lag in records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from ..client.admin.groups import Group, Member, describe_group, next_offsets
from ..client.admin.offsets import Place
from ..client.admin.share_groups import (
    ShareGroup,
    ShareMember,
    describe_share_group,
    share_offsets,
)
from ..client.admin.streams_groups import StreamsGroup, StreamsMember, describe_streams_group
from ..client.cluster_client import Client
from ..protocol.api_keys import ApiKey
from .catalog import Catalog, ask_each_node
from .lag import lags_of
from .offsets import offsets_of

MOST_MEMBERS: Final = 1000
_MOST_ASSIGNED: Final = 200

Row = dict[str, Any]  # Any: values of JSON


class Listed(NamedTuple):
    """A group as its coordinator lists it; `kind` is Classic, Consumer, Share or Streams."""

    group_id: str
    kind: str
    state: str
    protocol_type: str
    node_id: int


def list_groups(client: Client) -> tuple[list[Listed], list[str]]:
    """All groups by name, and what could not be asked: one request to each node (ListGroups)."""
    body: dict[str, list[str]] = {"states_filter": [], "types_filter": []}
    answers, problems = ask_each_node(client, ApiKey.LIST_GROUPS, body)
    found = []
    for node_id, answer in answers.items():
        for each in answer.groups:
            kind = getattr(each, "group_type", "") or "Classic"
            state = getattr(each, "group_state", "")
            found.append(
                Listed(each.group_id, kind.capitalize(), state, each.protocol_type, node_id)
            )
    return sorted(found), problems


def group_rows(listed: Iterable[Listed]) -> list[Row]:
    """The rows of a list of groups."""
    return [
        {
            "group_id": each.group_id,
            "kind": each.kind,
            "state": each.state,
            "protocol_type": each.protocol_type,
            "coordinator": each.node_id,
        }
        for each in listed
    ]


class Described(NamedTuple):
    """A group of any kind.

    Attributes:
        offsets: the next offset to read, by partition; None if there is none yet.
        brokers_lag: the lag that the broker itself counts, of share groups.
    """

    state: str
    assignor: str
    coordinator: int
    group_epoch: int | None
    target_epoch: int | None
    members: list[Row]
    offsets: Mapping[Place, int | None]
    brokers_lag: dict[Place, int | None]


def group_view(
    client: Client, catalog: Catalog, group_id: str, kind: str, *, first: int, size: int
) -> Row:
    """A group with its members, and a page of its partitions with their lag.

    Args:
        kind: as ListGroups has it.
        first: the number of the page's first partition.
        size: of the page.

    Raises:
        ErrorAnswer: GROUP_ID_NOT_FOUND and others. NoAnswer: its coordinator is away.
    """
    match kind:
        case "Share":
            found = _share(client, group_id)
        case "Streams":
            found = _streams(client, group_id)
        case _:
            found = _consumer(client, group_id)
    owners: dict[Place, list[str]] = defaultdict(list)
    for member in found.members:
        for place in member["assigned"]:
            owners[place].append(member["member_id"])
    places = sorted(found.offsets.keys() | owners.keys())
    return {
        "group_id": group_id,
        "kind": kind,
        "state": found.state,
        "assignor": found.assignor,
        "coordinator": found.coordinator,
        "group_epoch": found.group_epoch,
        "target_epoch": found.target_epoch,
        "member_count": len(found.members),
        "members": [_shown(each) for each in found.members[:MOST_MEMBERS]],
        "partition_count": len(places),
        "partitions": _partition_rows(client, catalog, found, places[first : first + size], owners),
    }


def _shown(member: Row) -> Row:
    """A member for JSON; a very long assignment is cut, and counted."""
    shown = dict(member)
    for name in ("assigned", "target"):
        places = sorted(member[name])
        shown[name] = [f"{topic}-{index}" for topic, index in places[:_MOST_ASSIGNED]]
        shown[f"{name}_count"] = len(places)
    return shown


def _partition_rows(
    client: Client,
    catalog: Catalog,
    found: Described,
    places: list[Place],
    owners: Mapping[Place, list[str]],
) -> list[Row]:
    leaders = {place: catalog.leader(place) for place in places}
    known = offsets_of(client, leaders)
    starts = {place: at for place in places if (at := found.offsets.get(place)) is not None}
    lags = lags_of(client, starts, known, leaders)
    rows = []
    for place in places:
        lag = lags.get(place)
        row = {
            "topic": place[0],
            "partition": place[1],
            "next_offset": starts.get(place),
            "members": owners.get(place, [])[:_MOST_ASSIGNED],
            **known[place]._asdict(),
            "lag": None if lag is None else asdict(lag),
        }
        if place in found.brokers_lag:
            row["brokers_lag"] = found.brokers_lag[place]
        rows.append(row)
    return rows


def _consumer(client: Client, group_id: str) -> Described:
    group = describe_group(client, group_id)
    members = [
        _member(each, each.assigned, each.assigned if each.member_epoch is None else each.target)
        for each in group.members
    ]
    return _described(group, members, next_offsets(client, group_id))


def _share(client: Client, group_id: str) -> Described:
    group, offsets = describe_share_group(client, group_id), share_offsets(client, group_id)
    members = [_member(each, each.assigned, each.assigned) for each in group.members]
    starts = {place: None if each is None else each.start for place, each in offsets.items()}
    lags = {place: None if each is None else each.lag for place, each in offsets.items()}
    return _described(group, members, starts, lags)


def _streams(client: Client, group_id: str) -> Described:
    group = describe_streams_group(client, group_id)
    members = [
        _member(
            each,
            group.partitions_of(each.tasks.active),
            group.partitions_of(each.target.active),
        )
        for each in group.members
    ]
    return _described(group, members, next_offsets(client, group_id))


def _described(
    group: Group | ShareGroup | StreamsGroup,
    members: list[Row],
    offsets: Mapping[Place, int | None],
    brokers_lag: dict[Place, int | None] | None = None,
) -> Described:
    return Described(
        group.state,
        group.assignor,
        group.coordinator[0],
        group.group_epoch,
        group.target_epoch,
        members,
        offsets,
        brokers_lag or {},
    )


def _member(
    member: Member | ShareMember | StreamsMember, assigned: Iterable[Place], target: Iterable[Place]
) -> Row:
    return {
        "member_id": member.member_id,
        "instance_id": getattr(member, "instance_id", None),  # a share group has none
        "client_id": member.client_id,
        "host": member.host,
        "epoch": member.member_epoch,
        "assigned": list(assigned),
        "target": list(target),
    }
