"""`ottla groups`: lists, describes, resets and deletes consumer groups."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any

import typer

from ..client.admin import groups as admin
from ..client.admin.offsets import EARLIEST, LATEST, Place, list_offsets
from ..client.cluster_client import Client, ErrorAnswer, check
from ..console.options import CannotRun
from ..console.tables import Table, plural, print_json, print_line, print_table
from ..protocol.errors import Code
from .shared_options import HERE, AsJson, Bootstrap, Subcommands, client_of

Group = Annotated[str, typer.Argument(metavar="GROUP")]


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    groups = Subcommands(
        app,
        "groups",
        help="List, describe, reset and delete consumer groups.",
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
    """Print committed offset, end and lag of all groups, a line for each partition."""
    rows: list[dict[str, Any]] = []
    with client_of(bootstrap) as client:
        for listed in admin.list_groups(client):
            name = listed.group_id
            if not patterns or any(fnmatchcase(name, each) for each in patterns):
                found = admin.describe_group(client, name)
                rows += [{"group_id": name, **each} for each in _lags(client, name, found)]
    if as_json:
        print_json(rows)
        return 0
    columns = ("group", "partition", "committed", "end", "lag", "member")
    cells = [[each["group_id"], *(_cell(each[name]) for name in columns[1:])] for each in rows]
    print_table(Table(plural(len(cells), "partition", "partitions"), columns, cells))
    return 0


def _describe(group: Group, bootstrap: Bootstrap = HERE, as_json: AsJson = False) -> int:
    """Print members, committed offsets and lag of a group."""
    with client_of(bootstrap) as client:
        found = admin.describe_group(client, group)
        places = _lags(client, group, found)
    if as_json:
        members = [each._asdict() for each in found.members]
        about = {"group_id": group, "type": found.kind, "state": found.state}
        print_json(about | {"members": members, "partitions": places})
        return 0
    print_line(f"{group}: {found.state}, {found.kind}, coordinator node {found.coordinator[0]}")
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


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)


def _lags(client: Client, group: str, found: admin.Group) -> list[dict[str, Any]]:
    """Committed offset, end and lag of each partition that is committed or assigned."""
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
        bool, typer.Option("--execute", help="Commit the offsets; else only print them.")
    ] = False,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> int:
    """Print the offsets that a reset would commit; --execute commits them.

    The group must not have members: stop them first.
    """
    with client_of(bootstrap) as client:
        (found,) = client.metadata([topic])
        check(found.error_code, topic)
        known = sorted(each.partition_index for each in found.partitions)
        if unknown := set(partition or []) - set(known):
            raise CannotRun(f"{topic} has no partition {min(unknown)}")
        wanted = _wanted(client, [(topic, index) for index in partition or known], to)
        before = admin.committed_offsets(client, group)
        if execute:
            admin.commit_offsets(client, group, wanted)
    if as_json:
        offsets = {f"{name}-{index}": offset for (name, index), offset in wanted.items()}
        print_json({"group_id": group, "offsets": offsets, "is_committed": execute})
        return 0
    rows = [
        (f"{name}-{index}", str(before.get((name, index), ("-",))[0]), str(offset))
        for (name, index), offset in wanted.items()
    ]
    title = f"{group}: {'reset' if execute else 'not changed; --execute resets'}"
    print_table(Table(title, ("partition", "was" if execute else "is", "new"), rows))
    return 0


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
