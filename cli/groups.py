"""`ottla groups`: lists, describes, resets and deletes consumer groups and share groups."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any, Final

import typer

from ..client.admin import groups as admin
from ..client.admin import share_groups
from ..client.admin.offsets import EARLIEST, LATEST, Place, list_offsets
from ..client.cluster_client import Client, ErrorAnswer, check
from ..console.options import CannotRun
from ..console.tables import Table, plural, print_json, print_line, print_table
from ..protocol.errors import Code
from .shared_options import HERE, AsJson, Bootstrap, Subcommands, client_of

_SHARE: Final = "Share"  # the kind of a share group in a list
Group = Annotated[str, typer.Argument(metavar="GROUP")]


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    groups = Subcommands(
        app,
        "groups",
        help="List, describe, reset and delete groups.",
        example="ottla groups describe shoppers",
    )
    groups.add("list", _list, example="ottla groups list")
    groups.add("describe", _describe, example="ottla groups describe shoppers")
    groups.add(
        "reset", _reset, example="ottla groups reset shoppers orders --to beginning --execute"
    )
    groups.add("lag", _lag, example="ottla groups lag 'shop*'")
    groups.add("delete", _delete, example="ottla groups delete shoppers")


def _list(bootstrap: Bootstrap = HERE, as_json: AsJson = False) -> int:
    """List the groups with their states."""
    with client_of(bootstrap) as client:
        found = admin.list_groups(client)
    if as_json:
        print_json([_about(each) for each in found])
        return 0
    rows = [(each.group_id, each.kind, each.state) for each in found]
    print_table(Table(plural(len(rows), "group", "groups"), ("group", "type", "state"), rows))
    return 0


def _about(found: admin.ListedGroup) -> dict[str, Any]:
    """A group for JSON, with the names that `groups describe` has."""
    return {
        "group_id": found.group_id,
        "type": found.kind,
        "protocol_type": found.protocol_type,
        "state": found.state,
    }


def _lag(
    patterns: Annotated[
        list[str] | None, typer.Argument(metavar="[GROUP...]", help="Patterns with *; else all.")
    ] = None,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """Print offset, end and lag of all groups, a line for each partition.

    The offset is the committed one; of a share group it is the start offset.
    """
    rows: list[dict[str, Any]] = []
    with client_of(bootstrap) as client:
        for listed in admin.list_groups(client):
            name = listed.group_id
            if not patterns or any(fnmatchcase(name, each) for each in patterns):
                rows += [{"group_id": name, **each} for each in _lags_of(client, listed)]
    if as_json:
        print_json(rows)
        return 0
    columns = ("group", "partition", "committed", "end", "lag", "member")
    cells = [[each["group_id"], *(_cell(each[name]) for name in columns[1:])] for each in rows]
    print_table(Table(plural(len(cells), "partition", "partitions"), columns, cells))
    return 0


def _describe(group: Group, bootstrap: Bootstrap = HERE, as_json: AsJson = False) -> int:
    """Print members, offsets and lag of a group.

    The offsets of a share group are its start offsets.
    """
    with client_of(bootstrap) as client:
        found: admin.Group | share_groups.ShareGroup
        if _is_share(client, group):
            found, kind = share_groups.describe_share_group(client, group), _SHARE
            places = _share_lags(client, found)
        else:
            found = admin.describe_group(client, group)
            places, kind = _lags(client, group, found), found.kind
    if as_json:
        members = [each._asdict() for each in found.members]
        about = {"group_id": group, "type": kind, "state": found.state}
        print_json(about | {"members": members, "partitions": places})
        return 0
    print_line(f"{group}: {found.state}, {kind}, coordinator node {found.coordinator[0]}")
    columns = ("partition", "committed", "end", "lag", "member")
    rows = [[_cell(each[name]) for name in columns] for each in places]
    print_table(Table(plural(len(rows), "partition", "partitions"), columns, rows))
    rows = [
        [each.member_id, each.client_id, each.host, str(len(each.assigned))]
        for each in found.members
    ]
    if rows:
        names = ("member", "client", "host", "partitions")
        print_table(Table(plural(len(rows), "member", "members"), names, rows))
    return 0


def _is_share(client: Client, group: str) -> bool:
    return any(each.group_id == group for each in admin.list_groups(client, kinds=["share"]))


def _lags_of(client: Client, listed: admin.ListedGroup) -> list[dict[str, Any]]:
    name = listed.group_id
    if listed.kind == _SHARE:
        return _share_lags(client, share_groups.describe_share_group(client, name))
    return _lags(client, name, admin.describe_group(client, name))


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)


def _lags(client: Client, group: str, found: admin.Group) -> list[dict[str, Any]]:
    """Offset, end and lag of each partition that has an offset or is assigned."""
    committed = admin.committed_offsets(client, group)
    owners = {place: each.member_id for each in found.members for place in each.assigned}
    rows = []
    for place in sorted(committed.keys() | owners.keys()):
        offset = committed[place][0] if place in committed else None
        end = _end(client, place)
        lag = None if offset is None or end is None else end - offset
        name = f"{place[0]}-{place[1]}"
        rows.append(
            {
                "partition": name,
                "committed": offset,
                "end": end,
                "lag": lag,
                "member": owners.get(place),
            }
        )
    return rows


def _share_lags(client: Client, found: share_groups.ShareGroup) -> list[dict[str, Any]]:
    """As `_lags`; several members may have a partition, and the broker counts the lag."""
    owners: dict[Place, list[str]] = {}
    for member in found.members:
        for place in member.assigned:
            owners.setdefault(place, []).append(member.member_id)
    rows = []
    for place, offset in sorted(share_groups.share_offsets(client, found.group_id).items()):
        row = {
            "partition": f"{place[0]}-{place[1]}",
            "committed": None if offset is None else offset.start,
            "end": _end(client, place),
            "lag": None if offset is None else offset.lag,
            "member": ", ".join(owners.get(place, ())) or None,
        }
        rows.append(row)
    return rows


def _end(client: Client, place: Place) -> int | None:
    """The end of a partition; None if the topic is deleted."""
    try:
        return list_offsets(client, {place: LATEST})[place].offset
    except ErrorAnswer as refused:
        if refused.code != Code.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return None


def _reset(
    group: Group,
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    to: Annotated[
        str,
        typer.Option("--to", metavar="WHERE", help="beginning, end, an offset, a time, or 10m."),
    ] = "beginning",
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", metavar="N", help="Only this one; repeatable."),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Set the offsets; else only print them.")
    ] = False,
    share: Annotated[
        bool, typer.Option("--share", help="A share group, which may not exist yet.")
    ] = False,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """Print the offsets that a reset would set; --execute sets them.

    The group must not have members: stop them first.
    """
    with client_of(bootstrap) as client:
        (found,) = client.metadata([topic])
        check(found.error_code, topic)
        known = sorted(each.partition_index for each in found.partitions)
        if unknown := set(partition or []) - set(known):
            raise CannotRun(f"{topic} has no partition {min(unknown)}")
        wanted = _wanted(client, [(topic, index) for index in partition or known], to)
        is_share = share or _is_share(client, group)
        before = _offsets(client, group, is_share=is_share)
        if execute:
            commit = share_groups.alter_share_offsets if is_share else admin.commit_offsets
            commit(client, group, wanted)
    if as_json:
        offsets = {f"{name}-{index}": offset for (name, index), offset in wanted.items()}
        print_json({"group_id": group, "offsets": offsets, "is_committed": execute})
        return 0
    rows = [
        (f"{name}-{index}", _cell(before.get((name, index))), str(offset))
        for (name, index), offset in wanted.items()
    ]
    title = f"{group}: {'reset' if execute else 'not changed; --execute resets'}"
    print_table(Table(title, ("partition", "was" if execute else "is", "new"), rows))
    return 0


def _offsets(client: Client, group: str, *, is_share: bool) -> dict[Place, int]:
    if is_share:
        found = share_groups.share_offsets(client, group)
        return {place: each.start for place, each in found.items() if each is not None}
    return {place: each[0] for place, each in admin.committed_offsets(client, group).items()}


def _wanted(client: Client, places: list[Place], to: str) -> dict[Place, int]:
    """The new offset of each partition, inside of its log."""
    from .consume import time_ms

    first = list_offsets(client, dict.fromkeys(places, EARLIEST))
    end = list_offsets(client, dict.fromkeys(places, LATEST))
    if to == "beginning":
        return {place: first[place].offset for place in places}
    if to == "end":
        return {place: end[place].offset for place in places}
    if to.removeprefix("-").isdecimal():
        number = int(to)
        return {
            place: min(
                max(number + end[place].offset * (number < 0), first[place].offset),
                end[place].offset,
            )
            for place in places
        }
    found = list_offsets(client, dict.fromkeys(places, time_ms(to, "--to")))
    return {
        place: end[place].offset if found[place].offset < 0 else found[place].offset
        for place in places
    }


def _delete(
    groups: Annotated[list[str], typer.Argument(metavar="GROUP...")],
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """Delete groups without members, with their committed offsets."""
    with client_of(bootstrap) as client:
        for group in groups:
            admin.delete_group(client, group)
            if not as_json:
                print_line(f"{group} is deleted")
    if as_json:
        print_json({"deleted": groups})
    return 0
