"""`kafka-groups`: list groups of all types (GroupsCommand)."""

from __future__ import annotations

import argparse
from typing import Final

from ...client.admin.groups import ListedGroup, list_groups
from ...client.cluster_client import Client
from ..options import Options, WrongOptions, forbid
from ..session import Failure
from ..texts import error_line, line
from ..tool import Tool

_TYPES: Final = frozenset({"Classic", "Consumer", "Share", "Streams"})
_FILTERS: Final = ("group-type", "protocol")


def options() -> Options:
    """The options of the tool."""
    made = Options("kafka-groups", "This tool helps to list groups of all types.")
    made.server()
    made.flag("--list", "list the groups")
    made.value("--group-type", "only groups of this type: classic, consumer, share, streams")
    made.value("--protocol", "only groups of this protocol type")
    made.flag("--consumer", "only consumer groups, of both types")
    made.flag("--share", "only share groups")
    made.flag("--streams", "only Streams groups")
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions unless the options agree."""
    if given.bootstrap_server is None:
        raise WrongOptions("Missing required option(s) [bootstrap-server]")
    if not given.list:
        raise WrongOptions("Command must include exactly one action: --list.")
    if given.group_type is not None and given.group_type.capitalize() not in _TYPES:
        raise WrongOptions("--group-type must be a valid group type.")
    forbid(given, "consumer", *_FILTERS, "share", "streams")
    forbid(given, "share", *_FILTERS, "consumer", "streams")
    forbid(given, "streams", *_FILTERS, "consumer", "share")


def _run(client: Client, given: argparse.Namespace) -> None:
    rows = [
        (each.group_id, each.kind, each.protocol_type)
        for each in list_groups(client)
        if _is_wanted(each, given)
    ]
    width = max([20, *(len(cell) for row in rows for cell in row)])
    heads = ("GROUP", "TYPE", "PROTOCOL")
    line(" ".join(head.ljust(width) for head in heads))
    for row in rows:
        line("".join(f"{cell.ljust(width)} " for cell in row))


def _is_wanted(group: ListedGroup, given: argparse.Namespace) -> bool:
    if given.group_type is not None and group.kind != given.group_type.capitalize():
        return False
    if given.protocol is not None and group.protocol_type != given.protocol:
        return False
    if given.consumer:
        return group.protocol_type in ("", "consumer") or group.kind == "Consumer"
    if given.share:
        return group.kind == "Share"
    return not given.streams or group.kind == "Streams"


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    line(f"Error while executing groups command : {failure.message}")
    error_line(f"ERROR {failure}")


TOOL: Final = Tool(options, _run, "listGroups", check=_check, print_failure=_print_failure)
