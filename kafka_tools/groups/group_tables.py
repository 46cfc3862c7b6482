"""The tables that `kafka-consumer-groups` prints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ...client.admin import offsets as admin_offsets
from ...client.admin.groups import Group, ListedGroup, Member, Place, by_topic, committed_offsets
from ...client.cluster_client import Client, ErrorAnswer
from ...protocol.errors import Code
from ..session import exception_message, exception_name
from ..texts import cell, error_line, line, out

_NONE: Final = "-"
_OFFSETS: Final = (
    *("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET"),
    *("LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"),
)
_EPOCH: Final = _OFFSETS.index("LEADER-EPOCH")


class _Row(NamedTuple):
    """A partition of a group, or a member without one; "-" stands for nothing."""

    group: str
    topic: str
    partition: str
    leader_epoch: str
    offset: str
    end: str
    lag: str
    member_id: str
    host: str
    client_id: str


def print_list(groups: Sequence[ListedGroup], *, types: bool, states: bool) -> None:
    """Print groups with their types or states."""
    width = max([15, *(len(each.group_id) for each in groups)]) + 10
    rows = [("GROUP", "TYPE", "STATE"), *((one.group_id, one.kind, one.state) for one in groups)]
    for group_id, kind, state in rows:
        text = group_id.ljust(width)
        text += f" {kind:<20}" if types else ""
        text += f" {state:<20}" if states else ""
        line(text)


def print_offsets(client: Client, group: Group, *, verbose: bool) -> None:
    """Print offsets and lags of all partitions of a group."""
    rows = _offset_rows(client, group)
    if not _has_table(group, len(rows)):
        return
    widths = [
        max([15, *(len(row.group) for row in rows)]),
        max([15, *(len(row.topic) for row in rows)]),
        *(10, 15, 15, 15, 15),
        max([15, *(len(row.member_id) for row in rows)]),
        max([15, *(len(row.host) for row in rows)]),
        0,
    ]
    for row in (_OFFSETS, *rows):
        cells = [
            cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            if verbose or at != _EPOCH
        ]
        _begin(" ".join(cells))
    line("")


def print_members(group: Group, *, verbose: bool) -> None:
    """Print the members of a group, and with `verbose` their assignments."""
    members = group.members if _has_table(group, len(group.members)) else ()
    rows = [_member_cells(group, each) for each in members]
    has_instances = any(each.instance_id for each in members)
    is_mixed = {True, False} <= {each.upgraded for each in members}
    least = (15, 15, 17, 15, 15, 15, 15, 20, 15, 20, 0)
    heads = (
        *("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"),
        *("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED"),
    )
    may_grow = {0, 1, 2, 3, 4, 7, 9}
    widths = [
        max([width, *(len(row[at]) for row in rows)]) if at in may_grow else width
        for at, width in enumerate(least)
    ]
    shown = [0, 1, 2, 3, 4, 5] if has_instances else [0, 1, 3, 4, 5]
    further = [6, 7, 8, 9, *([10] if is_mixed else [])] if verbose else []
    line("")
    for row in (heads, *rows):
        text = "".join(f"{row[at]:<{widths[at]}} " for at in shown)
        line(text + " ".join(row[at].ljust(widths[at]) for at in further))


def _member_cells(group: Group, member: Member) -> tuple[str, ...]:
    target_epoch = group.target_epoch if member.member_epoch is not None else None
    return (
        group.group_id,
        member.member_id,
        member.instance_id or "",
        member.host,
        member.client_id,
        str(len(member.assigned)),
        _NONE if member.member_epoch is None else str(member.member_epoch),
        _assignment(member.assigned),
        _NONE if target_epoch is None else str(target_epoch),
        _assignment(member.target),
        _NONE if member.upgraded is None else str(member.upgraded).lower(),
    )


def _assignment(places: Sequence[Place]) -> str:
    if not places:
        return _NONE
    topics = by_topic(places)
    texts = [f"{name}:{','.join(map(str, sorted(each)))}" for name, each in topics.items()]
    return ";".join(sorted(texts))


def print_state(group: Group, *, verbose: bool) -> None:
    """Print the state of a group."""
    if not _has_table(group, 1):
        return
    node_id, host, port = group.coordinator
    coordinator = f"{host}:{port}  ({node_id})"
    epochs = [
        _NONE if each is None else str(each) for each in (group.group_epoch, group.target_epoch)
    ]
    heads = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    cells = [group.group_id, coordinator, group.assignor or _NONE, group.state]
    widths = [max(15, len(group.group_id)), max(25, len(coordinator)), 20, 20]
    if verbose:
        heads += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        cells += epochs
        widths += [15, 25]
    for row, last in ((heads, "#MEMBERS"), (cells, str(len(group.members)))):
        texts = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        _begin(" ".join([*texts, last]))
    line("")


def print_deleted(group_id: str, overall: int, codes: Mapping[Place, int]) -> None:
    """Print the result of --delete-offsets: the error code of the group, and of partitions."""
    known = {place: code for place, code in codes.items() if place[1] >= 0}
    if overall != Code.NONE:
        line(f"\nError: {exception_message(overall)}")
    elif any(known.values()):
        line("\nError: Encountered some partition-level error, see the follow-up details:")
    else:
        line(f"Request succeeded for deleting offsets from group {group_id}.")
    width = max([15, *(len(topic) for topic, _ in codes)])
    _begin(f"{'TOPIC':<{width}} {'PARTITION':<10} {'STATUS':<15}")
    for (topic, index), code in sorted(codes.items()):
        where = _NONE if index < 0 else str(index)
        shown = overall or code
        status = "Successful"
        if shown:
            status = f"Error: {exception_name(shown)}: {exception_message(shown)}"
        _begin(f"{topic:<{width}} {where:<10} {status:<15}")
    line("")


def _begin(text: str) -> None:
    """Print a line whose end is printed before the next one."""
    out("\n" + cell(text))


def _has_table(group: Group, rows: int) -> bool:
    """Whether a table follows; prints what its state means."""
    match group.state:
        case "Dead":
            line(f"\nError: Consumer group '{group.group_id}' does not exist.")
        case "Empty":
            error_line(f"\nConsumer group '{group.group_id}' has no active members.")
        case "PreparingRebalance" | "CompletingRebalance" | "Assigning" | "Reconciling":
            error_line(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.")
    return group.state != "Dead" and rows > 0


def _offset_rows(client: Client, group: Group) -> list[_Row]:
    committed = committed_offsets(client, group.group_id)
    owners: dict[Place, Member] = {}
    idle = []
    for member in sorted(group.members, key=lambda each: -len(each.assigned)):
        owners |= dict.fromkeys(member.assigned, member)
        if not member.assigned:
            idle.append(member)
    by_member: dict[str, list[Place]] = defaultdict(list)
    for place, member in owners.items():
        by_member[member.member_id].append(place)
    places = [place for each in by_member.values() for place in sorted(each)]
    places += sorted(place for place in committed if place not in owners)
    ends = _ends(client, places)
    rows = []
    for place in places:
        offset, epoch, _ = committed.get(place, (-1, -1, ""))
        end = ends.get(place)
        has_lag = end is not None and offset >= 0
        rows.append(
            _Row(
                group.group_id,
                place[0],
                str(place[1]),
                _NONE if epoch < 0 else str(epoch),
                _NONE if offset < 0 else str(offset),
                _NONE if end is None else str(end),
                str(end - offset) if has_lag and end is not None else _NONE,
                *_owner(owners.get(place)),
            )
        )
    nothing = (_NONE,) * 6
    return rows + [_Row(group.group_id, *nothing, *_owner(each)) for each in idle]


def _owner(member: Member | None) -> tuple[str, str, str]:
    if member is None:
        return _NONE, _NONE, _NONE
    return member.member_id, member.host, member.client_id


def _ends(client: Client, places: Sequence[Place]) -> dict[Place, int]:
    """The end of each partition; none for partitions of deleted topics."""
    ends: dict[Place, int] = {}
    for topic, indexes in by_topic(places).items():
        asked = dict.fromkeys(((topic, index) for index in indexes), admin_offsets.LATEST)
        try:
            found = admin_offsets.list_offsets(client, asked)
        except ErrorAnswer:
            continue
        ends |= {place: each.offset for place, each in found.items()}
    return ends
