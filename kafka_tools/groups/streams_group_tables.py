"""The tables that `kafka-streams-groups` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...client.admin import offsets as admin_offsets
from ...client.admin.groups import Place, committed_offsets
from ...client.admin.streams_groups import (
    Description,
    NodeType,
    StreamsGroup,
    StreamsMember,
    TopologyDescription,
    TopologyNode,
)
from ...client.cluster_client import Client
from ..texts import cell, line, lines, out

_LEAST: Final = 15
_NONE: Final = "-"


def print_offsets(client: Client, group: StreamsGroup, *, verbose: bool) -> None:
    """Print the lag of each partition that the active tasks of a group read."""
    if not group.members:
        return
    places = sorted(
        {place for each in group.members for place in group.partitions_of(each.tasks.active)}
    )
    first = admin_offsets.list_offsets(client, dict.fromkeys(places, admin_offsets.EARLIEST))
    ends = admin_offsets.list_offsets(client, dict.fromkeys(places, admin_offsets.LATEST))
    committed = committed_offsets(client, group.group_id)
    heads = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LEADER-EPOCH", "LOG-END-OFFSET")
    rows = [[*heads, "OFFSET-LAG"]]
    for place in places:
        offset, epoch, _ = committed.get(place, (None, -1, ""))
        end = ends[place].offset
        lag = end - (first[place].offset if offset is None else offset)
        current = _NONE if offset is None else str(offset)
        leader_epoch = _NONE if epoch < 0 else str(epoch)
        rows.append(
            [group.group_id, place[0], str(place[1]), current, leader_epoch, str(end), str(lag)]
        )
    named = [max([_LEAST, *(len(row[at]) for row in rows)]) for at in (0, 1)]
    if verbose:
        _print_rows(rows, [*named, 10, 15, 15, 15, 15])
    else:
        _print_rows([[*row[:3], row[6]] for row in rows], [*named, 10, 0])


def print_members(group: StreamsGroup, *, verbose: bool) -> None:
    """Print the members of a group with their tasks."""
    if not group.members:
        return
    names = [("MEMBER", "PROCESS", "CLIENT-ID")]
    names += [(each.member_id, each.process_id, each.client_id) for each in group.members]
    member, process, client = (max(_LEAST, *(len(row[at]) for row in names)) for at in range(3))
    width = max(_LEAST, len(group.group_id))
    if not verbose:
        rows = [["GROUP", *names[0], "ASSIGNMENTS"]]
        for each, found in zip(group.members, names[1:], strict=True):
            rows.append([group.group_id, *found, _tasks(each, verbose=False)])
        _print_rows(rows, [width, member, process, client, 0])
        return
    heads = ("GROUP", "TARGET-ASSIGNMENT-EPOCH", "TOPOLOGY-EPOCH", "MEMBER", "MEMBER-PROTOCOL")
    rows = [[*heads, "MEMBER-EPOCH", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"]]
    for each in group.members:
        rows.append(
            [
                group.group_id,
                str(group.target_epoch),
                str(group.topology_epoch),
                each.member_id,
                "classic" if each.is_classic else "streams",
                str(each.member_epoch),
                each.process_id,
                each.client_id,
                _tasks(each, verbose=True),
            ]
        )
    for row in rows:  # Kafka's tool has no blank between these two
        row[2:4] = [row[2].ljust(15) + row[3].ljust(member)]
    _print_rows(rows, [width, 25, 0, 15, 15, process, client, 0])


def print_state(group: StreamsGroup, *, verbose: bool) -> None:
    """Print the state of a group."""
    if group.state == "Empty":
        line(f"\nError: Streams group '{group.group_id}' has no active members.")
    node_id, host, port = group.coordinator
    coordinator = f"{host}:{port} ({node_id})"
    first = ["GROUP", "COORDINATOR (ID)", "ASSIGNOR", "STATE"]
    second = [group.group_id, coordinator, group.assignor, group.state]
    widths = [
        max(_LEAST, len(group.group_id)),
        max(25, len(coordinator)),
        max(_LEAST, len(group.assignor)),
        25,
    ]
    if verbose:
        first += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        second += [str(group.group_epoch), str(group.target_epoch)]
        widths += [15, 25]
    _print_rows([[*first, "#MEMBERS"], [*second, str(len(group.members))]], [*widths, 0])


def print_topology(group: StreamsGroup) -> bool:
    """Print the described topology of a group; return whether there is one."""
    if group.description is not None:
        lines(_described(group.description))
        return True
    match group.description_status:
        case Description.NOT_STORED:
            why = f"No topology description is stored for streams group '{group.group_id}'."
        case Description.ERROR:
            why = (
                "The broker failed to fetch the topology description for streams group"
                f" '{group.group_id}'. See the broker logs for details."
            )
        case other:
            why = (
                f"No topology description is available for streams group '{group.group_id}'"
                f" (status: {other.name})."
            )
    line(f"\nError: {why}")
    return False


def print_deleted(results: Mapping[Place, str | None]) -> None:
    """Print the result of --delete-offsets: by partition None, or why it was refused."""
    width = max([_LEAST, *(len(topic) for topic, _ in results)])
    out(f"\n{'TOPIC':<{width}} {'PARTITION':<10} {'STATUS':<15}")
    for topic, index in sorted(results, key=lambda place: f"{place[0]}{place[1]}"):
        why = results[topic, index]
        status = "Successful" if why is None else f"Error: {why}"
        where = _NONE if index < 0 else str(index)
        out("\n" + cell(f"{topic:<{width}} {where:<10} {status:<15}"))
    line("")


def _tasks(member: StreamsMember, *, verbose: bool) -> str:
    kinds = [("", member.tasks)]
    if verbose:
        kinds.append(("TARGET-", member.target))
    return "".join(
        f"{prefix}{name}: {_by_subtopology(tasks)}"
        for prefix, every in kinds
        for name, tasks in zip(("ACTIVE", "STANDBY", "WARMUP"), every, strict=True)
        if tasks
    )


def _by_subtopology(tasks: Mapping[str, tuple[int, ...]]) -> str:
    return "".join(f"{name}:[{','.join(map(str, each))}]; " for name, each in tasks.items())


def _described(topology: TopologyDescription) -> str:
    """The text of a topology (TopologyDescriptionFormatter)."""
    parts = ["Topologies:\n"]
    for name, nodes in topology.subtopologies:
        parts.append(f"   Sub-topology: {name}\n")
        parts += [f"    {_node(each, nodes)}\n" for each in nodes]
        parts.append("\n")
    for number, pair in enumerate(topology.global_stores, len(topology.subtopologies)):
        head = f"   Sub-topology: {number} for global store (will not generate tasks)\n"
        parts += [head, *(f"    {_node(each, pair)}\n" for each in pair), "\n"]
    return "".join(parts)


def _node(node: TopologyNode, nodes: Sequence[TopologyNode]) -> str:
    before = [each.name for each in nodes if node.name in each.successors]
    after, back = f"\n      --> {_names(node.successors)}", f"\n      <-- {_names(before)}"
    match node.node_type:
        case NodeType.SOURCE:
            return f"Source: {node.name} (topics: {_listed(node.topics)}){after}"
        case NodeType.PROCESSOR:
            return f"Processor: {node.name} (stores: {_listed(node.stores)}){after}{back}"
        case NodeType.SINK:
            return f"Sink: {node.name} (topic: {node.sink_topic or 'null'}){back}"


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(sorted(set(names)))}]"


def _names(names: Sequence[str]) -> str:
    return ", ".join(sorted(set(names))) or "none"


def _print_rows(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        line(" ".join(cells))
