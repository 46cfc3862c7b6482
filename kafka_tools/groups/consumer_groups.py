"""`kafka-consumer-groups`: list, describe, delete groups; reset offsets (ConsumerGroupCommand)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

from ...client.admin import groups as admin_groups
from ...client.cluster_client import Client, ErrorAnswer
from ...protocol.errors import Code
from ..options import Options, RepeatedOption, WrongOptions, forbid, has, values_as_options
from ..session import Failure, failure_of, properties_in
from ..texts import error_line, line
from ..tool import Tool
from . import group_tables
from .offset_resets import TARGETS, print_reset, reset

_ACTIONS: Final = (
    "list",
    "describe",
    "delete",
    "reset-offsets",
    "delete-offsets",
    "validate-regex",
)
_STATES: Final = (
    "Assigning",
    "CompletingRebalance",
    "Dead",
    "Empty",
    "PreparingRebalance",
    "Reconciling",
    "Stable",
)
_TYPES: Final = ("Classic", "Consumer")
_ALL: Final = ""
"""The value of --state and --type without a text."""


class _Options(Options):
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        try:
            return super().read(words)
        except RepeatedOption as repeated:  # Kafka's tool finds it when it runs
            line(f"\nError: Executing consumer group command failed due to {repeated}")
            error_line(f"joptsimple.MultipleArgumentsForOptionException: {repeated}")
            raise SystemExit(0) from None  # as Kafka's tool


def options() -> Options:
    """The options of the tool."""
    made = _Options(
        "kafka-consumer-groups",
        "List all consumer groups, describe a consumer group, delete consumer group info, or reset"
        " consumer group offsets.",
        needs_words=True,
    )
    made.server()
    made.flag("--list", "list all consumer groups")
    made.flag("--describe", "print a group")
    made.flag("--delete", "delete groups")
    made.flag("--reset-offsets", "commit other offsets for a group without members")
    made.flag("--delete-offsets", "delete committed offsets of topics")
    made.value("--validate-regex", "check a regular expression of a subscription")
    made.values("--group", "the group; repeatable")
    made.flag("--all-groups", "every group")
    made.values("--topic", "TOPIC or TOPIC:0,1; repeatable")
    made.flag("--all-topics", "every topic of the group")
    made.flag("--members", "with --describe: the members")
    made.flag("--offsets", "with --describe: the offsets, which is the default")
    made.flag("--verbose", "with --describe: further columns")
    made.value("--state", "states with commas", nargs="?", const=_ALL)
    made.value("--type", "types with commas", nargs="?", const=_ALL)
    made.value("--timeout", "milliseconds to wait for a broker", number=True)
    made.flag("--execute", "with --reset-offsets: commit them")
    made.flag("--dry-run", "with --reset-offsets: print them only, which is the default")
    made.flag("--export", "with --reset-offsets: print CSV")
    for name in ("to-earliest", "to-latest", "to-current"):
        made.flag(f"--{name}", "reset to this offset")
    made.value("--to-offset", "reset to an offset", number=True)
    made.value("--to-datetime", "reset to the time YYYY-MM-DDThh:mm:ss.sss")
    made.value("--by-duration", "reset to so long ago, as P1DT2H3M4S")
    made.value("--shift-by", "reset by a number of records, back if negative", number=True)
    made.value("--from-file", "reset to the offsets in a CSV file")
    return made


def _read_settings(given: argparse.Namespace) -> dict[str, str]:
    settings = properties_in(given.command_config)
    if given.timeout is not None:
        settings["default.api.timeout.ms"] = str(given.timeout)
    return settings


def _run(client: Client, given: argparse.Namespace) -> None:
    with values_as_options():
        _RUN[given.action](client, given)


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    line(f"\nError: Executing consumer group command failed due to {failure}")
    error_line(f"java.util.concurrent.ExecutionException: {failure}")
    if failure.cause:
        error_line(failure.cause)


def _check(given: argparse.Namespace) -> int | None:
    """Find the action. Raises WrongOptions unless there is one, with the options that it needs."""
    actions = [name for name in _ACTIONS if has(given, name)]
    if "describe" in actions and not has(given, "group") and not given.all_groups:
        raise WrongOptions("Option [describe] takes one of these options: [all-groups], [group]")
    if len(actions) != 1:
        names = ", ".join(f"--{name}" for name in _ACTIONS)
        raise WrongOptions(f"Command must include exactly one action: {names}")
    action = given.action = actions[0]
    if action == "validate-regex":
        return _validate(given.validate_regex)
    if given.bootstrap_server is None:
        raise WrongOptions('Missing required argument "[bootstrap-server]"')
    has_group, has_all = has(given, "group"), given.all_groups
    if action == "describe":
        parts = [given.members, given.offsets, given.state is not None]
        if sum(parts) > 1:
            raise WrongOptions(
                "Option [describe] takes at most one of these options: [members], [offsets],"
                " [state]"
            )
        if given.state:
            raise WrongOptions("Option [describe] does not take a value for [state]")
    if action == "delete" and not has_group and not has_all:
        raise WrongOptions("Option [delete] takes one of these options: [all-groups], [group]")
    if action == "delete" and given.topic:
        raise WrongOptions(
            "The consumer does not support topic-specific offset deletion from a consumer group."
        )
    if action == "delete-offsets" and not (has_group and given.topic):
        raise WrongOptions("Option [delete-offsets] takes the following options: [topic], [group]")
    if action == "reset-offsets":
        _check_reset(given)
    if has_group and has_all:
        forbid(given, "group", "all-groups")
    if has_group and action == "list":
        raise WrongOptions('Option "[group]" can\'t be used with option "[list]"')
    return None


def _check_reset(given: argparse.Namespace) -> None:
    if given.dry_run and given.execute:
        raise WrongOptions("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.group and not given.all_groups:
        raise WrongOptions(
            "Option [reset-offsets] takes one of these options: [all-groups], [group]"
        )
    chosen = [name for name in TARGETS if has(given, name)]
    if len(chosen) > 1:
        first, second = chosen[:2]
        raise WrongOptions(f'Option "[{first}]" can\'t be used with option "[{second}]"')


def _list(client: Client, given: argparse.Namespace) -> None:
    states = _several(given.state, _STATES, "state")
    kinds = _several(given.type, _TYPES, "types")
    groups = admin_groups.list_groups(client, states=states, kinds=kinds or _TYPES)
    groups = [each for each in groups if each.protocol_type in ("", "consumer")]
    if given.state is None and given.type is None:
        for each in groups:
            line(each.group_id)
        return
    group_tables.print_list(groups, types=given.type is not None, states=given.state is not None)


def _several(text: str | None, known: Sequence[str], what: str) -> list[str]:
    """The known words of an option's text with commas; none if it has no text."""
    if not text:
        return []
    by_lower = {word.lower(): word for word in known}
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word.lower() not in by_lower:
            raise ValueError(
                f"Invalid {what} list '{text}'. Valid {what.removesuffix('s')}s are:"
                f" {', '.join(known)}"
            )
    return [by_lower[word.lower()] for word in words]


def _groups(client: Client, given: argparse.Namespace) -> list[str]:
    """The groups that the options name."""
    if not given.all_groups:
        return list(dict.fromkeys(given.group))
    every = admin_groups.list_groups(client, kinds=_TYPES)
    return [each.group_id for each in every if each.protocol_type in ("", "consumer")]


def _describe(client: Client, given: argparse.Namespace) -> None:
    for group_id in sorted(_groups(client, given)):
        group = admin_groups.describe_group(client, group_id)
        if given.members:
            group_tables.print_members(group, verbose=given.verbose)
        elif given.state is not None:
            group_tables.print_state(group, verbose=given.verbose)
        else:
            group_tables.print_offsets(client, group, verbose=given.verbose)


def _delete(client: Client, given: argparse.Namespace) -> None:
    failed: dict[str, Failure] = {}
    groups = _groups(client, given)
    for group_id in groups:
        try:
            admin_groups.delete_group(client, group_id)
        except ErrorAnswer as refused:
            failed[group_id] = failure_of(refused)
    done = [f"'{each}'" for each in groups if each not in failed]
    if not failed:
        line(f"Deletion of requested consumer groups ({', '.join(done)}) was successful.")
        return
    line("\nError: Deletion of some consumer groups failed:")
    for group_id, failure in failed.items():
        line(f"* Group '{group_id}' could not be deleted due to: {failure}")
    if done:
        line(f"\nThese consumer groups were deleted successfully: {', '.join(done)}")


def _reset(client: Client, given: argparse.Namespace) -> None:
    offsets = {group_id: reset(client, group_id, given) for group_id in _groups(client, given)}
    print_reset(offsets, csv=given.export, groups=len(given.group))


def _delete_offsets(client: Client, given: argparse.Namespace) -> None:
    (group_id,) = given.group[:1]
    places = []
    for text in given.topic:
        topic, _, indexes = text.partition(":")
        if indexes:
            places += [(topic, int(index)) for index in indexes.split(",")]
            continue
        (found,) = client.metadata([topic])
        if found.error_code:
            places.append((topic, -1))
        places += [(topic, each.partition_index) for each in found.partitions]
    asked = [place for place in places if place[1] >= 0]
    codes = dict.fromkeys(places, int(Code.UNKNOWN_TOPIC_OR_PARTITION))
    overall = int(Code.NONE)
    try:
        codes |= admin_groups.delete_offsets(client, group_id, asked)
    except ErrorAnswer as refused:
        overall = refused.code
    group_tables.print_deleted(group_id, overall, codes)


def _validate(text: str) -> int:
    import re

    try:
        re.compile(text)
    except re.error as wrong:
        line(f"The regular expression `{text}` is invalid: {wrong.msg}.")
    else:
        line(f"The regular expression `{text}` is valid.")
    return 0


_RUN: Final[dict[str, Callable[[Client, argparse.Namespace], None]]] = {
    "delete": _delete,
    "delete-offsets": _delete_offsets,
    "describe": _describe,
    "list": _list,
    "reset-offsets": _reset,
}


TOOL: Final = Tool(
    options,
    _run,
    "listGroups",
    check=_check,
    settings=_read_settings,
    print_failure=_print_failure,
    failed_status=0,  # as Kafka's tool
)
