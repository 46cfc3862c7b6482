"""`kafka-topics`: create, delete, list, describe and alter topics (TopicCommand)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Final

from ..client.admin import configs as admin_configs
from ..client.admin import topics as admin_topics
from ..client.cluster_client import Client, ErrorAnswer
from ..protocol.errors import Code
from .java_numbers import java_int
from .options import Options, RepeatedOption, WrongOptions, forbid, has, only_action, require
from .session import Failure
from .texts import (
    INTERNAL_TOPICS,
    error_line,
    error_lines,
    id_text,
    joined,
    line,
    lines,
    topic_pattern,
)
from .tool import Tool

_LIMITS: Final = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)
_MOST_REPLICAS: Final = 32_767
_COLLISION: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_')"
    " could collide. To avoid issues it is best to use either, but not both."
)


class _Options(Options):
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        try:
            return super().read(words)
        except WrongOptions as wrong:
            # Kafka's tool finds these when it runs, the address before.
            is_late = isinstance(wrong, RepeatedOption) and wrong.name != "bootstrap-server"
            if is_late or str(wrong).startswith("Cannot parse"):
                line(f"Error while executing topic command : {wrong}")
            raise


def options() -> Options:
    """The options of the tool."""
    purpose = "Create, delete, describe, or change a topic."
    made = _Options("kafka-topics", purpose, needs_words=True)
    made.server()
    made.flag("--list", "list all topics")
    made.flag("--describe", "print details of topics")
    made.flag("--create", "create a topic")
    made.flag("--alter", "change the number of partitions")
    made.flag("--delete", "delete topics")
    made.value("--topic", "the topic; except with --create, a regular expression")
    made.value("--topic-id", "with --describe: the topic's id")
    made.value("--partitions", "the number of partitions", number=True)
    made.value("--replication-factor", "the replicas of each partition", number=True)
    made.value("--replica-assignment", "the replicas of each partition, as 1:2,2:3")
    made.values("--config", "with --create: NAME=VALUE; repeatable")
    made.flag("--if-not-exists", "with --create: no error if the topic exists")
    made.flag("--if-exists", "with --alter, --delete, --describe: no error without the topic")
    made.flag("--exclude-internal", "leave out internal topics")
    made.flag("--topics-with-overrides", "describe only topics with settings of their own")
    for name in _LIMITS:
        made.flag(f"--{name}", "describe only such partitions")
    made.value("--partition-size-limit-per-response", "of one answer", number=True)
    return made


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    if failure.cause:
        error_lines(f"{failure.message}\n{failure.cause}")
    else:
        line(f"Error while executing topic command : {failure.message}")
        error_line(f"ERROR {failure} (org.apache.kafka.tools.TopicCommand)")


def _check(given: argparse.Namespace) -> None:
    """Find the action. Raises WrongOptions unless there is one, with the options that it needs."""
    listed = "--list, --describe, --create, --alter or --delete"
    action = given.action = only_action(given, [*_ACTIONS], listed)
    if not has(given, "bootstrap-server"):
        raise WrongOptions("--bootstrap-server must be specified")
    if action in ("create", "alter", "delete"):
        require(given, "topic")
    if action == "alter":
        forbid(given, "bootstrap-server", "config")
        require(given, "partitions")
    if action != "create":
        for name in ("if-not-exists", "replication-factor", "config"):
            forbid(given, name, action)
    if action not in ("create", "alter"):
        for name in ("partitions", "replica-assignment"):
            forbid(given, name, action)
    if action in ("create", "list"):
        forbid(given, "if-exists", action)
    if action == "create":
        forbid(given, "replica-assignment", "partitions", "replication-factor")
    if action != "describe":
        for name in ("topics-with-overrides", *_LIMITS, "topic-id"):
            forbid(given, name, action)


def _create(client: Client, given: argparse.Namespace) -> None:
    name = given.topic
    if "." in name or "_" in name:
        line(_COLLISION)
    if given.replication_factor is not None and not 1 <= given.replication_factor <= _MOST_REPLICAS:
        raise ValueError(f"The replication factor must be between 1 and {_MOST_REPLICAS} inclusive")
    if given.partitions is not None and given.partitions < 1:
        raise ValueError("The partitions must be greater than 0")
    try:
        admin_topics.create_topic(
            client,
            name,
            partitions=-1 if given.partitions is None else given.partitions,
            replication_factor=-1 if given.replication_factor is None else given.replication_factor,
            assignments=_assignments(given.replica_assignment),
            settings=_settings(given.config),
        )
    except ErrorAnswer as refused:
        if refused.code == Code.TOPIC_ALREADY_EXISTS and given.if_not_exists:
            return
        raise
    line(f"Created topic {name}.")


def _settings(texts: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(
                "requirement failed: Invalid topic config: all configs to be added must be in the"
                ' format "key=val".'
            )
        found[name.strip()] = value.strip()
    return found


def _assignments(text: str | None) -> list[list[int]]:
    if text is None:
        return []
    every = [
        [java_int(node.strip()) for node in each.strip().split(":")] for each in text.split(",")
    ]
    for index, nodes in enumerate(every):
        if len(set(nodes)) != len(nodes):
            raise ValueError(f"Partition replica lists may not contain duplicate entries: {index}")
        if len(nodes) != len(every[0]):
            raise ValueError(f"Partition {index} has different replication factor: {joined(nodes)}")
    return every


def _list(client: Client, given: argparse.Namespace) -> None:
    lines("\n".join(_matching(client, given)))


def _matching(client: Client, given: argparse.Namespace) -> list[str]:
    """The topics that the options select, sorted."""
    names = admin_topics.topic_names(client)
    if given.exclude_internal:
        names = [name for name in names if name not in INTERNAL_TOPICS]
    if given.topic is None:
        return names
    pattern = topic_pattern(given.topic)
    return [name for name in names if pattern.fullmatch(name)]


def _existing(client: Client, given: argparse.Namespace) -> list[str]:
    """As `_matching`. Raises ValueError if a topic is named, none matches and one is required."""
    names = _matching(client, given)
    if given.topic is not None and not names and not given.if_exists:
        raise ValueError(f"Topic '{given.topic}' does not exist as expected")
    return names


def _alter(client: Client, given: argparse.Namespace) -> None:
    for name in _existing(client, given):
        (topic,) = admin_topics.describe_topics(client, [name])
        added = None
        if given.replica_assignment is not None:
            added = _assignments(given.replica_assignment)[len(topic.partitions) :]
        admin_topics.add_partitions(client, name, given.partitions, added)


def _delete(client: Client, given: argparse.Namespace) -> None:
    for name in _existing(client, given):
        admin_topics.delete_topic(client, name)


def _describe(client: Client, given: argparse.Namespace) -> None:
    if given.topic_id is not None:
        names = [
            topic.name
            for topic in client.metadata(None)
            if id_text(topic.topic_id) == given.topic_id
        ]
        if not names and not given.if_exists:
            raise ValueError(f"TopicId '{given.topic_id}' does not exist as expected")
    else:
        names = _existing(client, given)
    limits = [name for name in _LIMITS if has(given, name)]
    for topic in admin_topics.describe_topics(client, names):
        settings = admin_configs.describe_settings(client, admin_configs.Resource.TOPIC, topic.name)
        _describe_one(topic, settings, limits, only_overrides=given.topics_with_overrides)


def _describe_one(
    topic: admin_topics.Topic,
    settings: Sequence[admin_configs.Setting],
    limits: Sequence[str],
    *,
    only_overrides: bool,
) -> None:
    shown = [each for each in settings if each.source != admin_configs.Source.DEFAULT_CONFIG]
    if only_overrides and not shown:  # as Kafka's: defaults of brokers that are set count, too
        return
    if not limits:
        texts = ",".join(f"{each.name}={each.value}" for each in shown)
        line(
            f"Topic: {topic.name}\tTopicId: {id_text(topic.topic_id)}"
            f"\tPartitionCount: {len(topic.partitions)}"
            f"\tReplicationFactor: {len(topic.partitions[0].replicas)}\tConfigs: {texts}"
        )
    if only_overrides:
        return
    minimum = next(
        (int(each.value or 1) for each in settings if each.name == "min.insync.replicas"), 1
    )
    for each in topic.partitions:
        if not limits or any(_is_limited(name, each, minimum) for name in limits):
            leader = "none" if each.leader < 0 else str(each.leader)
            line(
                f"\tTopic: {topic.name}\tPartition: {each.partition}\tLeader: {leader}"
                f"\tReplicas: {joined(each.replicas)}\tIsr: {joined(each.in_sync)}"
                f"\tElr: {joined(each.eligible)}"
                f"\tLastKnownElr: {joined(each.last_known_eligible)}"
            )


def _is_limited(name: str, partition: admin_topics.Partition, minimum: int) -> bool:
    in_sync = len(partition.in_sync)
    match name:
        case "under-replicated-partitions":
            return in_sync < len(partition.replicas)
        case "unavailable-partitions":
            return partition.leader < 0
        case "under-min-isr-partitions":
            return in_sync < minimum
    return in_sync == minimum


_ACTIONS: Final[dict[str, Callable[[Client, argparse.Namespace], None]]] = {
    "alter": _alter,
    "create": _create,
    "delete": _delete,
    "describe": _describe,
    "list": _list,
}


TOOL: Final = Tool(
    options,
    lambda client, given: _ACTIONS[given.action](client, given),
    lambda given: "createTopics" if given.action == "create" else "listTopics",
    check=_check,
    print_failure=_print_failure,
)
