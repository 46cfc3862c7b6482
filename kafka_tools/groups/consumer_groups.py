"""`kafka-consumer-groups`: list, describe, delete groups; reset offsets (ConsumerGroupCommand)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

from ...client.admin import groups as admin_groups
from ...client.admin.groups import Place
from ...client.cluster_client import Client, ErrorAnswer
from ...protocol.errors import Code
from ..options import (
    Options,
    RepeatedOption,
    WrongOptions,
    forbid,
    has,
    only_action,
    require,
    values_as_options,
)
from ..session import Failure, properties_in
from ..texts import error_line, line
from ..tool import Tool
from . import group_tables
from .group_options import (
    ALL,
    add_reset_options,
    bracketed,
    check_describe,
    delete_each,
    forbid_second,
    may_be_reset,
    print_deletion,
    state_of,
    words_in,
)
from .reset_plans import named_partitions, planned_offsets, print_csv, print_plan

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
_TARGETS: Final = (
    *("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "shift-by"),
    *("from-file", "to-current"),
)
"""The options that say where to."""


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
    made.value("--state", "states with commas", nargs="?", const=ALL)
    made.value("--type", "types with commas", nargs="?", const=ALL)
    made.value("--timeout", "milliseconds to wait for a broker", number=True)
    add_reset_options(made, "commit them", dry_run=", which is the default")
    return made


def _read_settings(given: argparse.Namespace) -> dict[str, str]:
    settings = properties_in(given.command_config)
    if given.timeout is not None:
        settings["default.api.timeout.ms"] = str(given.timeout)
    return settings


@values_as_options()
def _run(client: Client, given: argparse.Namespace) -> None:
    _RUN[given.action](client, given)


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    line(f"\nError: Executing consumer group command failed due to {failure}")
    error_line(f"java.util.concurrent.ExecutionException: {failure}")
    if failure.cause:
        error_line(failure.cause)


def _check(given: argparse.Namespace) -> int | None:
    """Find the action. Raises WrongOptions unless there is one, with the options that it needs."""
    has_group, has_all = has(given, "group"), given.all_groups
    scopes = bracketed("all-groups", "group")
    if given.describe and not has_group and not has_all:
        raise WrongOptions(f"Option [describe] takes one of these options: {scopes}")
    action = given.action = only_action(
        given, _ACTIONS, ", ".join(f"--{each}" for each in _ACTIONS)
    )
    if action == "validate-regex":
        return _validate(given.validate_regex)
    require(given, "bootstrap-server")
    if action == "describe":
        check_describe(given, ("members", "offsets", "state"))
    if action == "delete" and not has_group and not has_all:
        raise WrongOptions(f"Option [delete] takes one of these options: {scopes}")
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
        scopes = bracketed("all-groups", "group")
        raise WrongOptions(f"Option [reset-offsets] takes one of these options: {scopes}")
    forbid_second(given, _TARGETS)


def _list(client: Client, given: argparse.Namespace) -> None:
    states = words_in(given.state, _STATES, "state")
    kinds = words_in(given.type, _TYPES, "types")
    groups = admin_groups.list_groups(client, states=states, kinds=kinds or _TYPES)
    groups = [each for each in groups if each.protocol_type in ("", "consumer")]
    if given.state is None and given.type is None:
        for each in groups:
            line(each.group_id)
        return
    group_tables.print_list(groups, types=given.type is not None, states=given.state is not None)


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
    names = _groups(client, given)
    print_deletion("consumer groups", names, delete_each(client, names, lambda _: None))


def _reset(client: Client, given: argparse.Namespace) -> None:
    plan = {name: _reset_group(client, name, given) for name in _groups(client, given)}
    if given.export:
        print_csv(plan, with_group=len(given.group) != 1)
    else:  # Kafka's tool prints the heads without a group too
        print_plan(plan or {"": {}}, least=15, grows=True, last=0)


def _reset_group(client: Client, group_id: str, given: argparse.Namespace) -> dict[Place, int]:
    """The new offsets of a group, committed with --execute.

    Raises:
        ValueError: the options do not agree. ErrorAnswer: the coordinator refuses.
    """
    state = state_of(lambda: admin_groups.describe_group(client, group_id).state)
    if not may_be_reset(group_id, state):
        return {}
    places = _places(client, group_id, given)
    if not places and given.from_file is None:
        return {}
    if not any(has(given, name) for name in _TARGETS):
        names = ", ".join(f"[{name}]" for name in _TARGETS)
        raise ValueError(
            f"Option '[reset-offsets]' requires one of the following scenarios: {names}"
        )
    offsets = planned_offsets(
        client, group_id, places, given, lambda: admin_groups.next_offsets(client, group_id)
    )
    if given.execute:
        admin_groups.commit_offsets(client, group_id, offsets)
    elif not given.dry_run and not given.export:
        error_line(
            "WARN: No action will be performed as the --execute option is missing. In version 5.0,"
            " this command will require either --dry-run or --execute to be specified. You should"
            " add the --dry-run option explicitly if you are scripting this command and want to"
            " keep the current default behavior without prompting."
        )
    return offsets


def _places(client: Client, group_id: str, given: argparse.Namespace) -> list[Place]:
    """The partitions that the options name; those of --from-file are in the file."""
    if given.all_topics:
        return sorted(admin_groups.committed_offsets(client, group_id))
    if not given.topic and given.from_file is None:
        raise ValueError("One of the reset scopes should be defined: --all-topics, --topic.")
    return named_partitions(client, given.topic)


def _delete_offsets(client: Client, given: argparse.Namespace) -> None:
    (group_id,) = given.group[:1]
    places: list[Place] = []
    for text in given.topic:
        try:
            places += named_partitions(client, [text])
        except ErrorAnswer:
            places.append((text, -1))
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
