"""`ottla groups`: lists, describes, resets and deletes groups of all types."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any, Final

import typer

from ..client.admin import groups as admin
from ..client.admin.offsets import EARLIEST, LATEST, Place, list_offsets
from ..client.admin.share_groups import alter_share_offsets, share_offsets
from ..client.cluster_client import Client, ErrorAnswer
from ..console.options import CannotRun
from ..console.tables import Table, plural, print_json, print_line, print_table
from ..protocol.errors import Code
from ..protocol.java_integers import number_in
from .group_rows import SHARE, group_rows, kind_of
from .shared_options import HERE, AsJson, Bootstrap, Subcommands, client_of, delete_each

Group = Annotated[str, typer.Argument(metavar="GROUP")]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="classic, consumer, share, streams; repeatable."),
]
_KINDS: Final = ("Classic", "Consumer", "Share", "Streams")


def add(app: typer.Typer) -> None:
    """Add the commands to an app."""
    groups = Subcommands(
        app,
        "groups",
        help="List, describe, reset and delete groups of all types.",
        example="ottla groups describe shoppers",
    )
    groups.add("list", _list, example="ottla groups list --type share")
    groups.add("describe", _describe, example="ottla groups describe shoppers")
    groups.add(
        "reset", _reset, example="ottla groups reset shoppers orders --to beginning --execute"
    )
    groups.add("lag", _lag, example="ottla groups lag 'shop*'")
    groups.add("delete", _delete, example="ottla groups delete shoppers")


def _list(kinds: Kinds = None, bootstrap: Bootstrap = HERE, as_json: AsJson = False) -> None:
    """List the groups of all types with their states."""
    wanted = _known(kinds)
    with client_of(bootstrap) as client:
        found = admin.list_groups(client, kinds=wanted)
    if as_json:
        print_json([_about(each) for each in found])
        return
    rows = [(each.group_id, each.kind, each.state) for each in found]
    print_table(Table(plural(len(rows), "group", "groups"), ("group", "type", "state"), rows))


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
    kinds: Kinds = None,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Print committed offset, end and lag of all groups, a line for each partition.

    The committed offset of a share group is its start offset: the first record that may still be
    delivered.
    """
    rows: list[dict[str, Any]] = []
    wanted = _known(kinds)
    with client_of(bootstrap) as client:
        for listed in admin.list_groups(client, kinds=wanted):
            name = listed.group_id
            if not patterns or any(fnmatchcase(name, each) for each in patterns):
                found = group_rows(client, name, listed.kind)
                rows += [{"group_id": name, **each} for each in found.partitions]
    if as_json:
        print_json(rows)
        return
    columns = ("group", "partition", "committed", "end", "lag", "member")
    cells = [[each["group_id"], *(_cell(each[name]) for name in columns[1:])] for each in rows]
    print_table(Table(plural(len(cells), "partition", "partitions"), columns, cells))


def _describe(group: Group, bootstrap: Bootstrap = HERE, as_json: AsJson = False) -> None:
    """Print members, offsets and lag of a group; of a Streams group also tasks and topology."""
    with client_of(bootstrap) as client:
        found = group_rows(client, group, kind_of(client, group))
    if as_json:
        about = {"group_id": group, "type": found.kind, "state": found.state}
        print_json(about | {"members": found.members, "partitions": found.partitions})
        return
    print_line(f"{group}: {found.state}, {found.kind}, coordinator node {found.coordinator}")
    columns = ("partition", "committed", "end", "lag", "member")
    rows = [[_cell(each[name]) for name in columns] for each in found.partitions]
    print_table(Table(plural(len(rows), "partition", "partitions"), columns, rows))
    for table in found.tables:
        print_table(table)


def _known(kinds: list[str] | None) -> list[str]:
    """The types of groups as Kafka writes them. Raises CannotRun for an unknown one."""
    for each in kinds or []:
        if each.capitalize() not in _KINDS:
            raise CannotRun(f"--type {each}: {', '.join(_KINDS).lower()} were expected")
    return [each.capitalize() for each in kinds or []]


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)


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
    share: Annotated[
        bool, typer.Option("--share", help="A group that does not exist yet is a share group.")
    ] = False,
    execute: Annotated[
        bool, typer.Option("--execute", help="Set the offsets; else only print them.")
    ] = False,
    bootstrap: Bootstrap = HERE,
    as_json: AsJson = False,
) -> None:
    """Print the offsets that a reset would commit; --execute commits them.

    The group must not have members: stop them first. Of a share group they are start offsets.
    """
    with client_of(bootstrap) as client:
        known = client.partitions(topic)
        if unknown := set(partition or []) - set(known):
            raise CannotRun(f"{topic} has no partition {min(unknown)}")
        wanted = _wanted(client, [(topic, index) for index in partition or known], to)
        is_shared = share or kind_of(client, group) == SHARE
        before = _offsets(client, group, is_shared=is_shared)
        if execute:
            (alter_share_offsets if is_shared else admin.commit_offsets)(client, group, wanted)
    if as_json:
        offsets = {f"{name}-{index}": offset for (name, index), offset in wanted.items()}
        print_json({"group_id": group, "offsets": offsets, "is_committed": execute})
        return
    rows = [
        (f"{name}-{index}", _cell(before.get((name, index))), str(offset))
        for (name, index), offset in wanted.items()
    ]
    title = f"{group}: {'reset' if execute else 'not changed; --execute resets'}"
    print_table(Table(title, ("partition", "was" if execute else "is", "new"), rows))


def _offsets(client: Client, group: str, *, is_shared: bool) -> dict[Place, int]:
    """The present offsets of a group; none if it does not exist."""
    if not is_shared:
        return admin.next_offsets(client, group)
    try:
        known = share_offsets(client, group)
    except ErrorAnswer as refused:
        if refused.code != Code.GROUP_ID_NOT_FOUND:
            raise
        return {}
    return {place: each.start for place, each in known.items() if each is not None}


def _wanted(client: Client, places: list[Place], to: str) -> dict[Place, int]:
    """The new offset of each partition, inside of its log."""
    from .consume import time_ms

    first = list_offsets(client, dict.fromkeys(places, EARLIEST))
    end = list_offsets(client, dict.fromkeys(places, LATEST))
    if to == "beginning":
        return {place: first[place].offset for place in places}
    if to == "end":
        return {place: end[place].offset for place in places}
    number = number_in(to, 64)
    if number is not None:
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
) -> None:
    """Delete groups without members, with their committed offsets."""
    delete_each(groups, admin.delete_group, bootstrap, as_json=as_json)
