"""The tables that `kafka-share-groups` prints."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from ...client.admin.groups import Place, by_topic, list_groups
from ...client.admin.share_groups import ShareGroup, ShareOffset
from ...client.cluster_client import Client
from ..texts import cell, error_line, line, out

_LEAST: Final = 15
_NONE: Final = "-"


def names_of(client: Client, kind: str) -> list[str]:
    """The groups of a kind: Share or Streams. Raises ErrorAnswer."""
    return [each.group_id for each in list_groups(client, kinds=[kind])]


def print_list(client: Client, given: argparse.Namespace, kind: str) -> None:
    """Print the groups of a kind; with --state also their states. Raises ErrorAnswer."""
    if given.state is None:
        for name in names_of(client, kind):
            line(name)
        return
    groups = list_groups(client, states=given.states, kinds=[kind])
    width = max([_LEAST, *(len(each.group_id) for each in groups)])
    for name, state in (("GROUP", "STATE"), *((each.group_id, each.state) for each in groups)):
        line(f"{name:<{width}} {state}")


def print_offsets(
    group_id: str, offsets: Mapping[Place, ShareOffset | None], *, verbose: bool
) -> None:
    """Print start offset and lag of each partition."""
    if not offsets:
        line(f"\nShare group '{group_id}' has no offset information.")
        return
    heads = ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG"]
    rows = [heads]
    for (topic, index), found in sorted(offsets.items()):
        numbers: tuple[int | None, ...] = (None, None, None)
        if found is not None:
            numbers = (found.leader_epoch, found.start, found.lag)
        cells = [_NONE if each is None else str(each) for each in numbers]
        rows.append([group_id, topic, str(index), *cells])
    topic_width = max([_LEAST, *(len(row[1]) for row in rows)])
    widths = [max(_LEAST, len(group_id)), topic_width, 10, 13, 13, 0]
    shown = [0, 1, 2, 3, 4, 5] if verbose else [0, 1, 2, 4, 5]
    _print_rows(rows, widths, shown)


def print_state(group: ShareGroup, *, verbose: bool) -> None:
    """Print the state of a group."""
    _has_members(group)
    node_id, host, port = group.coordinator
    coordinator = f"{host}:{port}  ({node_id})"
    rows = [
        ["GROUP", "COORDINATOR (ID)", "STATE", "GROUP-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS"],
        [
            group.group_id,
            coordinator,
            group.state,
            str(group.group_epoch),
            str(group.target_epoch),
            str(len(group.members)),
        ],
    ]
    widths = [max(_LEAST, len(group.group_id)), max(25, len(coordinator)), 15, 12, 17, 0]
    _print_rows(rows, widths, [0, 1, 2, 3, 4, 5] if verbose else [0, 1, 2, 5])


def print_members(group: ShareGroup, *, verbose: bool) -> None:
    """Print the members of a group with their assignments."""
    if not _has_members(group):
        return
    rows = [
        [
            *("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID"),
            *("#PARTITIONS", "MEMBER-EPOCH", "ASSIGNMENT"),
        ]
    ]
    rows += [
        [
            group.group_id,
            each.member_id,
            each.host,
            each.client_id,
            str(len(each.assigned)),
            str(each.member_epoch),
            _assignment(each.assigned),
        ]
        for each in sorted(group.members)
    ]
    named = [max([_LEAST, *(len(row[at]) for row in rows)]) for at in (1, 2, 3)]
    widths = [max(_LEAST, len(group.group_id)), *named, 12, 13, 0]
    _print_rows(rows, widths, [0, 1, 2, 3, 4, 5, 6] if verbose else [0, 1, 2, 3, 4, 6])


def print_deleted(results: Mapping[str, str | None]) -> None:
    """Print the result of --delete-offsets: by topic None, or why it was refused."""
    width = max([_LEAST, *(len(topic) for topic in results)])
    rows = [["TOPIC", "STATUS"]]
    for topic, why in sorted(results.items()):
        rows.append([topic, "Successful" if why is None else f"Error: {why}"])
    _print_rows(rows, [width, 0], [0, 1])


def _assignment(places: Sequence[Place]) -> str:
    topics = by_topic(places)
    return ";".join(f"{name}:{','.join(map(str, sorted(topics[name])))}" for name in sorted(topics))


def _has_members(group: ShareGroup) -> bool:
    """Whether the group has members; prints it if not."""
    if group.state == "Empty":
        error_line(f"\nShare group '{group.group_id}' has no active members.")
    return bool(group.members)


def _print_rows(rows: Sequence[Sequence[str]], widths: Sequence[int], shown: list[int]) -> None:
    """Print rows, the end of each before the next one."""
    for row in rows:
        out("\n" + cell(" ".join(row[at].ljust(widths[at]) for at in shown)))
    line("")
