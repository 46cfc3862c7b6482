"""`kafka-streams-groups`: list, describe, delete Streams groups; reset offsets.

As StreamsGroupCommand.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...client.admin import groups as admin_groups
from ...client.admin import streams_groups as admin
from ...client.admin.groups import Place
from ...client.cluster_client import Client, ErrorAnswer
from ...protocol.errors import Code
from ..options import Options, WrongOptions, has, only_action, require, values_as_options
from ..session import Failure, exception_message, exception_name, failure_of
from ..texts import error_line, line
from ..tool import Tool
from . import streams_group_tables as tables
from .group_options import (
    ALL,
    add_reset_options,
    bracketed,
    check_available,
    check_describe,
    check_reset_is_chosen,
    delete_each,
    forbid_second,
    forbid_with,
    may_be_reset,
    print_deletion,
    settings_of,
    words_in,
)
from .reset_plans import (
    NOT_SHARE,
    TARGETS,
    check_partitions,
    named_partitions,
    planned_offsets,
    print_csv,
    print_plan,
)
from .share_group_tables import names_of, print_list
from .streams_topics import delete_topics, internal_topics_of

_ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
_STATES: Final = ("Assigning", "Dead", "NotReady", "Reconciling", "Empty", "Stable")
_STREAMS: Final = "Streams"
_PARTS: Final = ("members", "offsets", "state", "topology")
_OF_DESCRIBE: Final = {
    "members": ("describe",),
    "offsets": ("describe",),
    "state": ("list", "describe"),
    "topology": ("describe",),
    "verbose": ("describe",),
}
_TIMEOUT_MS: Final = 30_000
_WRAPPED: Final = "java.util.concurrent.ExecutionException: "
# Errors of a whole group, which the result of --delete-offsets names.
_OF_THE_GROUP: Final = frozenset(
    {
        Code.INVALID_GROUP_ID,
        Code.GROUP_ID_NOT_FOUND,
        Code.GROUP_AUTHORIZATION_FAILED,
        Code.NON_EMPTY_GROUP,
    }
)


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-streams-groups",
        "This tool helps to list, describe, delete and manage the offsets of streams groups.",
        needs_words=True,
    )
    made.server()
    made.flag("--list", "list all Streams groups")
    made.flag("--describe", "print groups")
    made.flag("--delete", "delete groups")
    made.flag("--reset-offsets", "commit other offsets for groups without members")
    made.flag("--delete-offsets", "delete committed offsets of topics")
    made.values("--group", "the group; repeatable")
    made.flag("--all-groups", "every Streams group")
    made.values("--input-topic", "TOPIC or TOPIC:0,1; repeatable")
    made.flag("--all-input-topics", "every input topic of the group")
    made.flag("--members", "with --describe: the members and their tasks")
    made.flag("--offsets", "with --describe: the offsets, which is the default")
    made.flag("--topology", "with --describe: the topology as the application describes it")
    made.value("--state", "states with commas", nargs="?", const=ALL)
    made.flag("--verbose", "with --describe: further columns")
    made.value("--timeout", "milliseconds to wait for a broker", number=True, default=_TIMEOUT_MS)
    add_reset_options(made, "commit them")
    made.values("--delete-internal-topic", "with --reset-offsets: delete this topic too")
    made.flag("--delete-all-internal-topics", "with --reset-offsets or --delete: delete them too")
    return made


@values_as_options()
def _check(given: argparse.Namespace) -> None:
    """Find the action.

    Raises:
        WrongOptions: there is none, or several, another option does not fit, or a state is unknown.
    """
    check_available(given, _OF_DESCRIBE)
    require(given, "bootstrap-server")
    if given.describe:
        check_describe(given, _PARTS)
    scopes = bracketed("all-groups", "group")
    if given.delete:
        if not given.group and not given.all_groups:
            raise WrongOptions(f"Option [delete] takes one of these options: {scopes}")
        if given.input_topic or given.all_input_topics:
            raise WrongOptions(
                "Kafka Streams does not support topic-specific offset deletion from a streams"
                " group."
            )
    if given.delete_offsets:
        _check_delete_offsets(given)
    if given.reset_offsets:
        check_reset_is_chosen(given)
        if not given.group and not given.all_groups:
            raise WrongOptions(f"Option [reset-offsets] takes one of these options: {scopes}")
        forbid_second(given, (*TARGETS, *NOT_SHARE))
    _check_internal_topics(given)
    if (given.dry_run or given.execute) and not given.reset_offsets:
        raise WrongOptions("Only Option [reset-offsets] accepts [execute] or [dry-run]")
    forbid_with(given, "list", ["members", "offsets", "topology"])
    forbid_with(given, "group", ["all-groups", "list"])
    forbid_with(given, "input-topic", ["list", "describe", "delete"])
    *names, last = (f"--{name}" for name in _ACTIONS)
    given.action = only_action(given, _ACTIONS, f"{', '.join(names)}, or {last}.")
    given.states = words_in(given.state, _STATES)


def _check_delete_offsets(given: argparse.Namespace) -> None:
    if not given.group or not (given.input_topic or given.all_input_topics):
        names = bracketed("all-input-topics", "input-topic")
        raise WrongOptions(
            f"Option [delete-offsets] takes the [group] and one of these options: {names}"
        )
    if len(given.group) > 1:
        found = ", ".join(given.group)
        raise WrongOptions(
            f"Option [delete-offsets] supports only one [group] at a time, but found: [{found}]"
        )


def _check_internal_topics(given: argparse.Namespace) -> None:
    if given.delete_all_internal_topics:
        option = "Option [delete-all-internal-topics] takes"
        if not given.reset_offsets and not given.delete:
            names = bracketed("delete", "reset-offsets")
            raise WrongOptions(f"{option} one of these options: {names}")
        if given.reset_offsets and not given.execute:
            raise WrongOptions(f"{option} [execute] when [reset-offsets] is used.")
    elif given.delete_internal_topic and not (given.reset_offsets and given.execute):
        raise WrongOptions(
            "Option [delete-internal-topic] takes [reset-offsets] when [execute] is used."
        )


@values_as_options()
def _run(client: Client, given: argparse.Namespace) -> int | None:
    return _RUN[given.action](client, given)


def _print_failure(failure: Failure, given: argparse.Namespace) -> None:
    """Print what failed, as deeply wrapped as Kafka's admin client and the tool wrap it."""
    text = failure.message
    if failure.cause == "" and isinstance(failure.trouble, ErrorAnswer):
        text = f"{'' if given.action == 'describe' else _WRAPPED}{failure}"
    line(f"\nError: Executing streams group command failed due to {text}")
    error_line(f"{_WRAPPED}{failure}")
    if failure.cause:
        error_line(failure.cause)


def _list(client: Client, given: argparse.Namespace) -> None:
    print_list(client, given, _STREAMS)


def _describe(client: Client, given: argparse.Namespace) -> int:
    status = 0
    for name in names_of(client, _STREAMS) if given.all_groups else given.group:
        group = admin.describe_streams_group(client, name, with_description=given.topology)
        if given.topology:
            status |= not tables.print_topology(group)
        elif given.members:
            tables.print_members(group, verbose=given.verbose)
        elif given.state is not None:
            tables.print_state(group, verbose=given.verbose)
        else:
            tables.print_offsets(client, group, verbose=given.verbose)
    return status


def _delete(client: Client, given: argparse.Namespace) -> None:
    known = {each.group_id: each for each in admin_groups.list_groups(client, kinds=[_STREAMS])}
    names = list(known) if given.all_groups else list(dict.fromkeys(given.group))
    internal: dict[str, list[str]] = {}

    def why_not(name: str) -> Failure | None:
        if name not in known:
            why = f"Group '{name}' does not exist or is not a streams group."
            return Failure(why, "java.lang.IllegalArgumentException")
        if known[name].state != "Empty":
            why = f"Streams group '{name}' is not EMPTY."
            return Failure(why, exception_name(Code.NON_EMPTY_GROUP))
        if given.delete_all_internal_topics:
            internal[name] = internal_topics_of(client, name)
        return None

    failed = delete_each(client, names, why_not)
    print_deletion("streams groups", names or [""], failed, end=".")  # as Kafka's tool
    topics = {name: each for name, each in internal.items() if each and name not in failed}
    _delete_internal_topics(client, topics)


def _delete_internal_topics(client: Client, topics: Mapping[str, Sequence[str]]) -> None:
    if not topics:
        return
    failures = {}
    for name, each in topics.items():
        try:
            delete_topics(client, each)
        except ErrorAnswer as refused:
            failures[name] = failure_of(refused)
    if not failures:
        names = "', '".join(topics)
        line(
            "Deletion of associated internal topics of the streams groups"
            f" ('{names}') was successful."
        )
        return
    line("Deletion of some associated internal topics failed:")
    for name, failure in failures.items():
        line(
            f"* Internal topics of the streams group '{name}' could not be deleted due to:"
            f" {failure}"
        )


def _reset(client: Client, given: argparse.Namespace) -> None:
    names = names_of(client, _STREAMS) if given.all_groups else list(dict.fromkeys(given.group))
    plan: dict[str, Mapping[Place, int]] = {}
    for name in names:
        group = admin.describe_streams_group(client, name)
        if not may_be_reset(name, group.state):
            plan[name] = {}
            continue
        plan[name] = _reset_group(client, group, given)
        if given.execute and (topics := _topics_to_delete(client, name, given)):
            try:
                delete_topics(client, topics)
            except ErrorAnswer as refused:
                failed = f"\nError: Deleting internal topics for group '{name}' failed"
                is_missing = refused.code == Code.UNKNOWN_TOPIC_OR_PARTITION
                why = "because the topics do not exist."
                line(f"{failed} {why if is_missing else f'due to {failure_of(refused)}'}")
    if given.export:
        print_csv(plan, with_group=len(given.group) != 1)
    else:
        print_plan(plan, least=30, grows=False, last=15)


def _reset_group(
    client: Client, group: admin.StreamsGroup, given: argparse.Namespace
) -> Mapping[Place, int]:
    committed = admin_groups.next_offsets(client, group.group_id)
    if given.all_input_topics:
        places = sorted(place for place in committed if place[0] in group.input_topics)
    elif given.input_topic:
        places = _refusing_missing(client, given.input_topic)
        if not committed.keys() >= set(places):
            line(f"\nError: One or more topics are not part of the group '{group.group_id}'.")
            places = []
    elif given.from_file is not None:
        places = []
    else:
        raise WrongOptions(
            "One of the reset scopes should be defined: --all-input-topics, --input-topic."
        )
    if not any(has(given, name) for name in (*TARGETS, *NOT_SHARE)):
        names = bracketed(*TARGETS, *NOT_SHARE)
        raise WrongOptions(
            f"Option '[reset-offsets]' requires one of the following scenarios: {names}"
        )
    offsets = planned_offsets(
        client,
        group.group_id,
        places,
        given,
        lambda: {place: at for place, at in committed.items() if place[0] in group.source_topics},
    )
    if given.execute and offsets:
        admin_groups.commit_offsets(client, group.group_id, offsets)
    return offsets


def _refusing_missing(client: Client, texts: Sequence[str]) -> list[Place]:
    """The partitions of texts. Raises Failure, which is not wrapped, for one that is missing."""
    try:
        places = named_partitions(client, texts)
        check_partitions(client, places)
    except ErrorAnswer as refused:
        failure = failure_of(refused)
        raise Failure(failure.message, failure.name) from None
    return places


def _topics_to_delete(client: Client, group_id: str, given: argparse.Namespace) -> Sequence[str]:
    if given.delete_all_internal_topics:
        return internal_topics_of(client, group_id)
    topics: list[str] = given.delete_internal_topic
    return topics


def _delete_offsets(client: Client, given: argparse.Namespace) -> None:
    (group_id,) = given.group
    codes: dict[Place, int] = {}
    if given.all_input_topics:
        inputs = admin.describe_streams_group(client, group_id).input_topics
        committed = admin_groups.committed_offsets(client, group_id)
        places = [place for place in committed if place[0] in inputs]
    else:
        places = []
        for text in given.input_topic:
            try:
                places += named_partitions(client, [text])
            except ErrorAnswer as refused:
                codes[text, -1] = refused.code
    overall = Code.NONE
    try:
        codes |= admin_groups.delete_offsets(client, group_id, places)
    except ErrorAnswer as refused:
        overall = Code(refused.code)
        codes |= dict.fromkeys(places, refused.code)
    failed = [code for (_, index), code in codes.items() if code and index >= 0]
    if overall in _OF_THE_GROUP:
        line(f"\nError: {exception_message(overall)}")
    elif failed:
        line("\nError: Encountered some partition-level error, see the follow-up details.")
    elif overall != Code.NONE:
        line(f"\nError: Encountered some unknown error: {overall.name}")
    else:
        line(f"Request succeeded for deleting offsets from group {group_id}.")
    tables.print_deleted(
        {
            place: f"{exception_name(code)}: {exception_message(code)}" if code else None
            for place, code in codes.items()
        }
    )


_RUN: Final[dict[str, Callable[[Client, argparse.Namespace], int | None]]] = {
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
    settings=settings_of,
    print_failure=_print_failure,
)
