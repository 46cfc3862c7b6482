"""`kafka-share-groups`: list, describe, delete share groups; reset offsets (ShareGroupCommand)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...client.admin import groups as admin_groups
from ...client.admin import share_groups as admin
from ...client.admin.groups import Place
from ...client.cluster_client import Client, ErrorAnswer
from ...protocol.errors import Code
from ..options import (
    Options,
    RepeatedOption,
    WrongOptions,
    has,
    only_action,
    require,
    values_as_options,
)
from ..session import Failure, exception_name, failure_of
from ..texts import error_line, line
from ..tool import Tool
from . import share_group_tables as tables
from .group_options import (
    ALL,
    INACTIVE,
    add_reset_options,
    bracketed,
    check_available,
    check_describe,
    check_reset_is_chosen,
    delete_each,
    forbid_second,
    forbid_with,
    print_deletion,
    settings_of,
    state_of,
    words_in,
)
from .reset_plans import (
    TARGETS,
    check_partitions,
    named_partitions,
    planned_offsets,
    print_csv,
    print_plan,
)

_ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
_STATES: Final = ("Empty", "Stable", "Dead")
_SHARE: Final = "Share"
_PARTS: Final = ("members", "offsets", "state")
_SCOPES: Final = ("topic", "all-topics", "from-file")
_OF_DESCRIBE: Final = {
    "members": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "verbose": ("describe",),
}
_TIMEOUT_MS: Final = 30_000
_FAILED: Final = "\nError: Executing share group command failed due to "
_UNREADABLE: Final = "Cannot parse argument"


class _Options(Options):
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        try:
            return super().read(words)
        except WrongOptions as wrong:  # Kafka's tool finds these when it runs
            if not isinstance(wrong, RepeatedOption) and not str(wrong).startswith(_UNREADABLE):
                raise
            line(f"{_FAILED}{wrong}")
            error_line(str(wrong))
            raise SystemExit(0) from None


def options() -> Options:
    """The options of the tool."""
    made = _Options(
        "kafka-share-groups",
        "This tool helps to list, describe, delete and manage the offsets of share groups.",
        needs_words=True,
    )
    made.server()
    made.flag("--list", "list all share groups")
    made.flag("--describe", "print groups")
    made.flag("--delete", "delete groups")
    made.flag("--reset-offsets", "set other start offsets of a group without members")
    made.flag("--delete-offsets", "delete the offsets of topics")
    made.values("--group", "the group; repeatable")
    made.flag("--all-groups", "every share group")
    made.values("--topic", "TOPIC or TOPIC:0,1; repeatable")
    made.flag("--all-topics", "every topic of the group")
    made.flag("--members", "with --describe: the members")
    made.flag("--offsets", "with --describe: the offsets, which is the default")
    made.value("--state", "states with commas", nargs="?", const=ALL)
    made.flag("--verbose", "with --describe: further columns")
    made.value("--timeout", "milliseconds to wait for a broker", number=True, default=_TIMEOUT_MS)
    add_reset_options(made, "set them", is_share=True)
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
    if given.delete:
        _check_delete(given)
    if given.delete_offsets and not (given.group and given.topic):
        names = bracketed("group", "topic")
        raise WrongOptions(f"Option [delete-offsets] takes the following options: {names}")
    if given.reset_offsets:
        _check_reset(given)
    forbid_with(given, "group", ["all-groups", "list"])
    forbid_with(given, "topic", ["list", "describe", "delete"])
    names = ", ".join(f"--{name}" for name in _ACTIONS)
    given.action = only_action(given, _ACTIONS, f"{names}.")
    given.states = words_in(given.state, _STATES)


def _check_delete(given: argparse.Namespace) -> None:
    if not given.group and not given.all_groups:
        raise WrongOptions("Option [delete] takes the options [group] or [all-groups].")
    if given.group and given.all_groups:
        raise WrongOptions("Option [delete] takes either [group] or [all-groups], not both.")
    if given.all_topics or given.topic:
        raise WrongOptions("Option [delete] does not take the options [topic] or [all-topics].")


def _check_reset(given: argparse.Namespace) -> None:
    check_reset_is_chosen(given)
    if not given.group:
        raise WrongOptions("Option [reset-offsets] takes the option: [group]")
    takes = "Option [reset-offsets] takes one of these options:"
    if not any(has(given, name) for name in _SCOPES):
        raise WrongOptions(f"{takes} {bracketed(*_SCOPES)}")
    forbid_second(given, _SCOPES)
    if not any(has(given, name) for name in TARGETS):
        raise WrongOptions(f"{takes} {bracketed(*TARGETS)}")
    forbid_second(given, ("to-offset", "to-datetime", "to-earliest", "to-latest", "to-current",
                          "from-file"))  # fmt: skip


@values_as_options()
def _run(client: Client, given: argparse.Namespace) -> None:
    _RUN[given.action](client, given)


def _print_failure(failure: Failure, given: argparse.Namespace) -> None:
    is_wrapped = given.action == "describe" and failure.cause == ""
    line(f"{_FAILED}{failure if is_wrapped else failure.message}")
    wrapped = f"java.util.concurrent.ExecutionException: {failure}"
    error_line(wrapped if is_wrapped else str(failure))
    if failure.cause:
        error_line(failure.cause)


def _list(client: Client, given: argparse.Namespace) -> None:
    tables.print_list(client, given, _SHARE)


def _describe(client: Client, given: argparse.Namespace) -> None:
    names = tables.names_of(client, _SHARE) if given.all_groups else given.group
    groups = [admin.describe_share_group(client, name) for name in sorted(set(names))]
    for group in groups:
        if given.members:
            tables.print_members(group, verbose=given.verbose)
        elif given.state is not None:
            tables.print_state(group, verbose=given.verbose)
        else:
            offsets = admin.share_offsets(client, group.group_id)
            tables.print_offsets(group.group_id, offsets, verbose=given.verbose)


def _delete(client: Client, given: argparse.Namespace) -> None:
    known = {each.group_id: each for each in admin_groups.list_groups(client, kinds=[_SHARE])}
    names = list(known) if given.all_groups else list(dict.fromkeys(given.group))

    def why_not(name: str) -> Failure | None:
        if name not in known:
            why = f"Group '{name}' is not a share group."
            return Failure(why, exception_name(Code.GROUP_ID_NOT_FOUND))
        if known[name].state != "Empty":
            why = f"Share group '{name}' is not EMPTY."
            return Failure(why, exception_name(Code.NON_EMPTY_GROUP))
        return None

    print_deletion("share groups", names, delete_each(client, names, why_not))


def _reset(client: Client, given: argparse.Namespace) -> None:
    group_id = _only_group(given)
    if state_of(lambda: admin.describe_share_group(client, group_id).state) not in INACTIVE:
        raise ValueError(f"Share group '{group_id}' is not empty.")

    def current() -> Mapping[Place, int]:
        known = admin.share_offsets(client, group_id)
        return {place: each.start for place, each in known.items() if each is not None}

    if given.topic:
        places = named_partitions(client, given.topic)
    else:
        places = sorted(admin.share_offsets(client, group_id))
    check_partitions(client, places)
    offsets = planned_offsets(client, group_id, places, given, current)
    if given.execute:
        admin.alter_share_offsets(client, group_id, offsets)
    plan = {group_id: offsets} if offsets else {}
    if given.export:
        print_csv(plan, with_group=False)
    else:
        print_plan(plan, least=15, grows=True, last=0)


def _only_group(given: argparse.Namespace) -> str:
    """The only group of --group. Raises Failure for a second one."""
    if len(given.group) > 1:
        repeated = RepeatedOption("group")
        raise Failure(str(repeated), "joptsimple.MultipleArgumentsForOptionException")
    return str(given.group[0])


def _delete_offsets(client: Client, given: argparse.Namespace) -> None:
    group_id = _only_group(given)
    topics = sorted(set(given.topic))
    results: dict[str, ErrorAnswer | None]
    try:
        results = admin.delete_share_offsets(client, group_id, topics)
    except ErrorAnswer as refused:
        results = dict.fromkeys(topics, refused)
        line(f"\nError: {failure_of(refused).message}")
    tables.print_deleted(
        {topic: None if why is None else failure_of(why).message for topic, why in results.items()}
    )


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
    settings=settings_of,
    print_failure=_print_failure,
    failed_status=0,  # as Kafka's tool
)
