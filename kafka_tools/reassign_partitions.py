"""`kafka-reassign-partitions`: move replicas between brokers (ReassignPartitionsCommand)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from ..client.admin import reassignments as admin_reassignments
from ..client.admin import topics as admin_topics
from ..client.admin.groups import Place
from ..client.cluster_client import Client, ErrorAnswer
from ..protocol.errors import Code
from . import reassignment_plans as plans
from .java_numbers import java_int
from .options import Options, WrongOptions, has, only_action, require
from .reassignment_plans import name_of
from .reassignment_throttles import Move, clear_throttles, set_throttles
from .session import Failure, exception_message, exception_name
from .texts import joined, line, lines, out
from .tool import Tool

_ACTIONS: Final = ("generate", "execute", "verify", "cancel", "list")
_NEEDED: Final = {
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_ALLOWED: Final = {
    "generate": ("disable-rack-aware",),
    "execute": ("additional", "disallow-replication-factor-change", "throttle", "timeout",
                "replica-alter-log-dirs-throttle"),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout", "bootstrap-controller"),
    "list": ("bootstrap-controller",),
}  # fmt: skip
_EVERY: Final = (
    *("topics-to-move-json-file", "broker-list", "reassignment-json-file", "disable-rack-aware"),
    *("additional", "disallow-replication-factor-change", "throttle", "timeout"),
    *("replica-alter-log-dirs-throttle", "preserve-throttles", "bootstrap-controller"),
)
_EXISTING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to"
    " override this and create a new partition assignment in addition to the existing one. The"
    " --additional flag can also be used to change the throttle by resubmitting the current"
    " reassignment."
)

Directories = Mapping[tuple[Place, int], str]
"""The log directory by partition and broker."""


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-reassign-partitions",
        "This tool helps to move topic partitions between replicas.",
        needs_words=True,
    )
    made.server()
    made.value("--bootstrap-controller", "a controller, for --cancel and --list")
    made.flag("--generate", "propose a plan")
    made.flag("--execute", "begin a plan")
    made.flag("--verify", "print how far a plan is, and remove its throttles")
    made.flag("--cancel", "cancel a plan")
    made.flag("--list", "print what is under way")
    made.value("--reassignment-json-file", 'file: {"partitions": [{"topic": "t", "partition": 0,'
               ' "replicas": [1]}], "version": 1}')  # fmt: skip
    made.value("--topics-to-move-json-file", 'file: {"topics": [{"topic": "t"}], "version": 1}')
    made.value("--broker-list", "brokers, with commas, for --generate")
    made.flag("--disable-rack-aware", "accepted: racks do not matter here")
    made.value("--throttle", "bytes a second between brokers", number=True)
    made.value("--replica-alter-log-dirs-throttle", "and between directories", number=True)
    made.value("--timeout", "milliseconds for moves between directories", number=True)
    made.flag("--additional", "besides what is under way")
    made.flag("--preserve-throttles", "leave throttles as they are")
    made.flag("--disallow-replication-factor-change", "the number of replicas must stay")
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions unless the options agree."""
    listed = ", ".join(f"--{name}" for name in _ACTIONS)
    action = given.action = only_action(given, _ACTIONS, listed)
    if given.bootstrap_server is None and given.bootstrap_controller is None:
        raise WrongOptions("Please specify either --bootstrap-server or --bootstrap-controller")
    if given.bootstrap_server is not None and given.bootstrap_controller is not None:
        raise WrongOptions(
            "Please don't specify both --bootstrap-server and --bootstrap-controller"
        )
    require(given, *_NEEDED[action])
    for name in _EVERY:
        if has(given, name) and name not in (*_NEEDED[action], *_ALLOWED[action]):
            raise WrongOptions(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    given.bootstrap_server = given.bootstrap_server or given.bootstrap_controller


def _run(client: Client, given: argparse.Namespace) -> None:
    match given.action:
        case "generate":
            _generate(client, given)
        case "execute":
            _execute(client, given)
        case "verify":
            _verify(client, given)
        case "cancel":
            _cancel(client, given)
        case _:
            _list(client)


def _generate(client: Client, given: argparse.Namespace) -> None:
    try:
        brokers = [java_int(text) for text in given.broker_list.split(",")]
    except ValueError as wrong:
        raise Failure(str(wrong), "java.lang.NumberFormatException") from None
    if twice := sorted({node for node in brokers if brokers.count(node) > 1}):
        raise plans.refused(f"Broker list contains duplicate entries: [{joined(twice)}]")
    topics = plans.read_topics(plans.read_text(given.topics_to_move_json_file))
    current = _current(client, topics)
    known = sorted(node for node in brokers if node in client.brokers)
    proposed = plans.proposed_plan(current, known)
    line("Current partition replica assignment")
    line(plans.plan_text(current, _directories(client, current)))
    line("\nProposed partition reassignment configuration")
    line(plans.plan_text(proposed, {}))


def _execute(client: Client, given: argparse.Namespace) -> None:
    wanted, paths = plans.read_plan(plans.read_text(given.reassignment_json_file))
    under_way = admin_reassignments.list_reassignments(client)
    if under_way and not given.additional:
        raise Failure(_EXISTING, "org.apache.kafka.tools.TerseException")
    every = _current(client, sorted({topic for topic, _ in wanted}))
    for node in sorted({node for replicas in wanted.values() for node in replicas}):
        if node not in client.brokers:
            raise plans.refused(f"Unknown broker id {node}")
    current = {place: every[place] for place in wanted if place in every}
    line("Current partition replica assignment\n")
    line(plans.plan_text(current, _directories(client, current)))
    line("\nSave this to use as the --reassignment-json-file option during rollback")
    moves = {place: Move(current.get(place, ()), wanted[place]) for place in wanted}
    set_throttles(
        client,
        moves,
        [node for _, node in paths],
        rate=-1 if given.throttle is None else given.throttle,
        directory_rate=given.replica_alter_log_dirs_throttle
        if given.replica_alter_log_dirs_throttle is not None
        else -1,
    )
    refusals = admin_reassignments.alter_reassignments(
        client, wanted, may_change_factor=not given.disallow_replication_factor_change
    )
    if refusals:
        failed = (f"{name_of(each)}: {_why(refusals[each])}" for each in sorted(refusals))
        raise Failure("Error reassigning partition(s):\n" + "\n".join(failed),
                      "org.apache.kafka.tools.TerseException")  # fmt: skip
    names = [name_of(place) for place in sorted(wanted)]
    plural = "" if len(names) == 1 else "s"
    line(f"Successfully started partition reassignment{plural} for {','.join(names)}")
    if paths:
        _move_directories(client, paths)


def _move_directories(client: Client, paths: Directories) -> None:
    """Let brokers move replicas to the directories of the plan."""
    for node in sorted({node for _, node in paths}):
        ours = {place: path for (place, at), path in paths.items() if at == node}
        for place, code in admin_reassignments.alter_log_directories(client, node, ours).items():
            if code not in (Code.NONE, Code.REPLICA_NOT_AVAILABLE):
                raise plans.refused(f"Failed to alter dir for {name_of(place)}-{node}")
    names = [f"{name_of(place)}-{node}" for place, node in sorted(paths)]
    plural = "" if len(names) == 1 else "s"
    line(f"Successfully started log directory move{plural} for: {','.join(names)}")


def _verify(client: Client, given: argparse.Namespace) -> None:
    wanted, paths = plans.read_plan(plans.read_text(given.reassignment_json_file))
    under_way = admin_reassignments.list_reassignments(client, wanted)
    current = _current(client, sorted({topic for topic, _ in wanted}), may_be_missing=True)
    line("Status of partition reassignment:")
    for place in sorted(wanted):
        name, replicas = name_of(place), joined(current.get(place, ()))
        if place in under_way:
            line(f"Reassignment of partition {name} is still in progress.")
        elif current.get(place) == wanted[place]:
            line(f"Reassignment of partition {name} is completed.")
        else:
            line(
                f"There is no active reassignment of partition {name}, but replica set is"
                f" {replicas} rather than {joined(wanted[place])}."
            )
    _print_moves(client, current, paths)
    if not paths:
        out("\n")
    if not under_way and not given.preserve_throttles:
        brokers = {node for replicas in wanted.values() for node in replicas}
        clear_throttles(client, brokers | client.brokers.keys(), {topic for topic, _ in wanted})


def _print_moves(client: Client, current: plans.Replicas, paths: Directories) -> None:
    """How far the moves between log directories are."""
    found = _directories(client, current) if paths else {}
    for (place, node), path in sorted(paths.items()):
        name, now = name_of(place), found.get((place, node))
        if now is None:
            line(f"Partition {name} is not found in any live log dir on broker {node}.")
        elif now == path:
            line(f"Reassignment of replica {name}-{node} completed successfully.")
        else:
            line(
                f"Partition {name} on broker {node} is not being moved from log dir {now} to"
                f" {path}."
            )


def _cancel(client: Client, given: argparse.Namespace) -> None:
    wanted, _ = plans.read_plan(plans.read_text(given.reassignment_json_file))
    under_way = admin_reassignments.list_reassignments(client, wanted)
    if under_way:
        refusals = admin_reassignments.alter_reassignments(client, dict.fromkeys(under_way))
        names = [name_of(place) for place in sorted(under_way)]
        plural = "" if len(names) == 1 else "s"
        if refusals:
            failed = (f"{name_of(each)}: {_why(refusals[each])}" for each in sorted(refusals))
            raise Failure(f"Error cancelling partition reassignment{plural} for:\n"
                          + "\n".join(failed), "org.apache.kafka.tools.TerseException")  # fmt: skip
        line(f"Successfully cancelled partition reassignment{plural} for: {','.join(names)}")
    else:
        line("None of the specified partition reassignments are active.")
    out("None of the specified partition moves are active.")
    if given.preserve_throttles:
        return
    brokers = {node for replicas in wanted.values() for node in replicas}
    clear_throttles(client, brokers | client.brokers.keys(), {topic for topic, _ in wanted})


def _list(client: Client) -> None:
    found = admin_reassignments.list_reassignments(client)
    if not found:
        line("No partition reassignments found.")
        return
    line("Current partition reassignments:")
    for place in sorted(found):
        each = found[place]
        text = f"{name_of(place)}: replicas: {joined(each.replicas)}."
        for what, nodes in (("adding", each.adding), ("removing", each.removing)):
            text += f" {what}: {joined(nodes)}." if nodes else ""
        line(text)


def _current(
    client: Client, topics: Sequence[str], *, may_be_missing: bool = False
) -> dict[Place, list[int]]:
    """The replicas of the topics' partitions. Raises Failure if a topic does not exist."""
    found: dict[Place, list[int]] = {}
    for topic in client.metadata(list(topics)) if topics else ():
        if topic.error_code and not may_be_missing:
            raise Failure(
                f"{exception_name(topic.error_code)}: Topic {topic.name} not found.",
                "java.util.concurrent.ExecutionException",
            )
        for each in topic.partitions:
            found[topic.name, each.partition_index] = list(each.replica_nodes)
    return found


def _directories(client: Client, replicas: plans.Replicas) -> dict[tuple[Place, int], str]:
    """The log directory of each replica, by its broker."""
    nodes = sorted({node for each in replicas.values() for node in each} & client.brokers.keys())
    return {
        ((topic, index), found.node_id): found.path
        for found in admin_topics.log_directories(client, nodes)
        for topic, index, *_ in found.replicas
    }


def _why(refusal: admin_reassignments.Refusal) -> str:
    return refusal.message or exception_message(refusal.code)


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    """On standard output, as Kafka's tool."""
    if failure.name.endswith("TerseException"):
        lines(failure.message)
        return
    message = failure.message
    if isinstance(failure.trouble, ErrorAnswer):
        message = f"{failure.name}: {message}"
        failure = Failure(message, "java.util.concurrent.ExecutionException")
    lines(f"Error: {message}\n{failure}")


TOOL: Final = Tool(
    options,
    _run,
    lambda given: {"execute": "alterPartitionReassignments", "generate": "describeTopics"}.get(
        given.action, "listPartitionReassignments"
    ),
    check=_check,
    print_failure=_print_failure,
)
