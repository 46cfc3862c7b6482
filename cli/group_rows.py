"""What `ottla groups` shows of a group of each type: a row for each partition and each member."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..client.admin import groups as admin
from ..client.admin import share_groups, streams_groups
from ..client.admin.offsets import LATEST, Place, list_offsets
from ..client.admin.streams_groups import StreamsGroup, Tasks
from ..client.cluster_client import Client, ErrorAnswer
from ..console.tables import Table, plural
from ..protocol.errors import Code

CONSUMER: Final = "Consumer"
SHARE: Final = "Share"
STREAMS: Final = "Streams"


class GroupRows(NamedTuple):
    """A group, ready to be shown.

    Attributes:
        coordinator: the node.
        partitions: for JSON, with the names that `partition_row` gives.
        members: for JSON.
        tables: of members and of the topology, for people.
    """

    kind: str
    state: str
    coordinator: int
    partitions: list[dict[str, Any]]
    members: list[dict[str, Any]]
    tables: tuple[Table, ...]


def kind_of(client: Client, group_id: str) -> str:
    """The type of a group as ListGroups has it; Consumer for a group that does not exist."""
    for each in admin.list_groups(client):
        if each.group_id == group_id:
            return each.kind
    return CONSUMER


def group_rows(client: Client, group_id: str, kind: str) -> GroupRows:
    """What is shown of a group. Raises ErrorAnswer."""
    match kind:
        case "Share":
            return _share_rows(client, group_id)
        case "Streams":
            return _streams_rows(client, group_id)
        case _:
            return _consumer_rows(client, group_id)


def partition_row(
    client: Client, place: Place, committed: int | None, lag: int | None, member: str | None
) -> dict[str, Any]:
    """The row of a partition; `lag` None: as far as the end is from `committed`."""
    end = _end(client, place)
    if lag is None and committed is not None and end is not None:
        lag = end - committed
    name = f"{place[0]}-{place[1]}"
    return {"partition": name, "committed": committed, "end": end, "lag": lag, "member": member}


def _consumer_rows(client: Client, group_id: str) -> GroupRows:
    found = admin.describe_group(client, group_id)
    owners = {place: each.member_id for each in found.members for place in each.assigned}
    partitions = _committed_rows(client, group_id, owners)
    return _with_partitions(found, found.kind, partitions)


def _with_partitions(
    found: admin.Group | share_groups.ShareGroup, kind: str, partitions: list[dict[str, Any]]
) -> GroupRows:
    """The rows of a group whose members have partitions, not tasks."""
    rows = [
        [each.member_id, each.client_id, each.host, str(len(each.assigned))]
        for each in found.members
    ]
    return GroupRows(
        kind,
        found.state,
        found.coordinator[0],
        partitions,
        [each._asdict() for each in found.members],
        _members(("member", "client", "host", "partitions"), rows),
    )


def _committed_rows(
    client: Client, group_id: str, owners: Mapping[Place, str]
) -> list[dict[str, Any]]:
    """A row for each partition that is committed or assigned."""
    committed = admin.next_offsets(client, group_id)
    return [
        partition_row(client, place, committed.get(place), None, owners.get(place))
        for place in sorted(committed.keys() | owners.keys())
    ]


def _share_rows(client: Client, group_id: str) -> GroupRows:
    found = share_groups.describe_share_group(client, group_id)
    offsets = share_groups.share_offsets(client, group_id)
    owners: dict[Place, list[str]] = defaultdict(list)
    for each in found.members:
        for place in each.assigned:
            owners[place].append(each.member_id)
    partitions = []
    for place in sorted(offsets.keys() | owners.keys()):
        known = offsets.get(place)
        start, lag = (known.start, known.lag) if known is not None else (None, None)
        who = ", ".join(sorted(owners[place])) if place in owners else None
        partitions.append(partition_row(client, place, start, lag, who))
    return _with_partitions(found, SHARE, partitions)


def _streams_rows(client: Client, group_id: str) -> GroupRows:
    found = streams_groups.describe_streams_group(client, group_id)
    owners = {
        place: each.member_id
        for each in found.members
        for place in found.partitions_of(each.tasks.active)
    }
    members = [
        {**each._asdict(), "tasks": each.tasks._asdict(), "target": each.target._asdict()}
        for each in found.members
    ]
    rows = [
        [each.member_id, each.client_id, each.host, each.process_id, *_tasks(each.tasks)]
        for each in found.members
    ]
    columns = ("member", "client", "host", "process", "active", "standby", "warmup")
    return GroupRows(
        STREAMS,
        found.state,
        found.coordinator[0],
        _committed_rows(client, group_id, owners),
        members,
        (*_members(columns, rows), _topology(found)),
    )


def _topology(group: StreamsGroup) -> Table:
    rows = [
        [
            each.subtopology_id,
            ", ".join((*each.source_topics, *each.repartition_source_topics)) or "-",
            ", ".join(each.repartition_sink_topics) or "-",
            ", ".join(each.changelog_topics) or "-",
        ]
        for each in group.subtopologies
    ]
    title = plural(len(rows), "subtopology", "subtopologies")
    return Table(title, ("subtopology", "reads", "repartitions to", "changelogs"), rows)


def _tasks(tasks: Tasks) -> list[str]:
    """The tasks of each kind as Kafka Streams names them: subtopology_partition."""
    return [
        " ".join(f"{name}_{index}" for name in sorted(kind) for index in kind[name]) or "-"
        for kind in tasks
    ]


def _members(columns: tuple[str, ...], rows: list[list[str]]) -> tuple[Table, ...]:
    return (Table(plural(len(rows), "member", "members"), columns, rows),) if rows else ()


def _end(client: Client, place: Place) -> int | None:
    """The end of a partition; None if the topic is deleted."""
    try:
        return list_offsets(client, {place: LATEST})[place].offset
    except ErrorAnswer as refused:
        if refused.code != Code.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return None
