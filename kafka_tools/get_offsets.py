"""`kafka-get-offsets`: the offsets of partitions at a time (GetOffsetShell)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Final

from ..client.admin import offsets as admin_offsets
from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from .options import Options, WrongOptions, has, require, usage_error
from .session import Failure, connect, failure_of, properties_in
from .texts import INTERNAL_TOPICS, error_line, line, topic_pattern

_TIMES: Final = {
    "latest": admin_offsets.LATEST,
    "earliest": admin_offsets.EARLIEST,
    "max-timestamp": admin_offsets.MAX_TIMESTAMP,
    "earliest-local": admin_offsets.EARLIEST_LOCAL,
    "latest-tiered": admin_offsets.LATEST_TIERED,
}
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_USAGE: Final = "An interactive shell for getting topic-partition offsets."

Rule = Callable[[str, int], bool]
"""Whether a topic and a partition are wanted."""


def options() -> Options:
    """The options of the tool."""
    made = Options("kafka-get-offsets", _USAGE)
    made.server()
    made.value("--topic", "regular expression of topics; without it all topics")
    made.value("--partitions", "indexes with commas; without it all partitions")
    made.value("--topic-partitions", "patterns with commas: topic1:1,topic2:0-3,topic3,:5-")
    made.value("--time", "Unix time in ms, -1 or latest, -2 or earliest, ...", default="latest")
    made.flag("--exclude-internal-topics", "leave out internal topics")
    return made


def main(words: Sequence[str]) -> int:
    """Run the tool; return the exit status."""
    if not words:
        return usage_error(_USAGE)
    try:
        given = options().read(words)
        if given is None:
            return 0
    except WrongOptions as wrong:
        return usage_error(f"Error occurred: {wrong}")
    try:
        require(given, "bootstrap-server")
    except WrongOptions as wrong:
        return usage_error(str(wrong))
    try:
        if has(given, "topic-partitions") and (has(given, "topic") or has(given, "partitions")):
            raise ValueError("--topic-partitions cannot be used with --topic or --partitions")
        time_ms = _time(given.time)
        wanted = _rule(given)
        settings = properties_in(given.command_config)
        with connect(given.bootstrap_server, settings, "listTopics") as client:
            _print(client, given, wanted, time_ms)
    except (Failure, ErrorAnswer, NoAnswer, ValueError) as trouble:
        failure = failure_of(trouble)
        error_line(f"Error occurred: {failure.message}")
        return 1
    return 0


def _print(client: Client, given: argparse.Namespace, wanted: Rule, time_ms: int) -> None:
    places = [
        (topic.name, each.partition_index)
        for topic in client.metadata(None)
        if not (given.exclude_internal_topics and topic.name in INTERNAL_TOPICS)
        for each in topic.partitions
        if wanted(topic.name, each.partition_index)
    ]
    if not places:
        raise ValueError("Could not match any topic-partitions with the specified filters")
    for topic, index in sorted(places, key=lambda place: f"{place[0]}-{place[1]}"):
        try:
            found = admin_offsets.list_offsets(client, {(topic, index): time_ms})
        except ErrorAnswer as refused:
            failure = failure_of(refused)
            error_line(
                f"Skip getting offsets for topic-partition {topic}-{index} due to error: {failure}"
            )
            continue
        if found[topic, index].offset >= 0:
            line(f"{topic}:{index}:{found[topic, index].offset}")


def _time(text: str) -> int:
    if text in _TIMES:
        return _TIMES[text]
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or"
            " max-timestamp / -4 or earliest-local / -5 or latest-tiered, or a specified long"
            " format timestamp"
        ) from None


def _rule(given: argparse.Namespace) -> Rule:
    if given.topic_partitions is not None:
        rules = [_pattern_rule(text) for text in given.topic_partitions.split(",")]
        return lambda topic, index: any(rule(topic, index) for rule in rules)
    pattern = topic_pattern(given.topic or ".*")
    try:
        indexes = {int(text) for text in (given.partitions or "").split(",") if text}
    except ValueError:
        raise ValueError(
            f"--partitions expects a comma separated list of numeric partition ids, but received:"
            f" {given.partitions}"
        ) from None
    return lambda topic, index: (
        pattern.fullmatch(topic) is not None and (not indexes or index in indexes)
    )


def _pattern_rule(text: str) -> Rule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(f"Invalid rule specification: {text}")
    name, only, low, high = match.groups()
    pattern = topic_pattern(name or ".*")
    first = int(only or low or 0)
    end = first + 1 if only else int(high) if high else 1 << 31
    return lambda topic, index: pattern.fullmatch(topic) is not None and first <= index < end
