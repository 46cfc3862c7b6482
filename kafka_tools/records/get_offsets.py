"""`kafka-get-offsets`: the offsets of partitions at a time (GetOffsetShell)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Final

from ...client.admin import offsets as admin_offsets
from ...client.cluster_client import Client, ErrorAnswer
from ..java_numbers import java_int, java_long
from ..options import Options, WrongOptions, has, require
from ..session import Failure, failure_of
from ..texts import INTERNAL_TOPICS, error_line, line, topic_pattern
from ..tool import Tool

_TIMES: Final = {
    "latest": admin_offsets.LATEST,
    "earliest": admin_offsets.EARLIEST,
    "max-timestamp": admin_offsets.MAX_TIMESTAMP,
    "earliest-local": admin_offsets.EARLIEST_LOCAL,
    "latest-tiered": admin_offsets.LATEST_TIERED,
    "earliest-pending-upload": admin_offsets.EARLIEST_PENDING_UPLOAD,
}
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")

PartitionFilter = Callable[[str, int], bool]
"""Whether a topic and a partition are wanted."""


class _Options(Options):
    def read(self, words: Sequence[str]) -> argparse.Namespace:
        try:
            return super().read(words)
        except WrongOptions as wrong:
            raise WrongOptions(f"Error occurred: {wrong}" if words else str(wrong)) from None


def options() -> Options:
    """The options of the tool."""
    made = _Options(
        "kafka-get-offsets",
        "An interactive shell for getting topic-partition offsets.",
        needs_words=True,
    )
    made.server()
    made.value("--topic", "regular expression of topics; without it all topics")
    made.value("--partitions", "indexes with commas; without it all partitions")
    made.value("--topic-partitions", "patterns with commas: topic1:1,topic2:0-3,topic3,:5-")
    made.value("--time", "Unix time in ms, -1 or latest, -2 or earliest, ...", default="latest")
    made.flag("--exclude-internal-topics", "leave out internal topics")
    return made


def _check(given: argparse.Namespace) -> None:
    require(given, "bootstrap-server")
    if has(given, "topic-partitions") and (has(given, "topic") or has(given, "partitions")):
        raise ValueError("--topic-partitions cannot be used with --topic or --partitions")
    given.time_ms = _time(given.time)
    given.rule = _rule(given)


def _print_failure(failure: Failure, _: argparse.Namespace) -> None:
    error_line(f"Error occurred: {failure.message}")


def _print(client: Client, given: argparse.Namespace) -> None:
    places = [
        (topic.name, each.partition_index)
        for topic in client.metadata(None)
        if not (given.exclude_internal_topics and topic.name in INTERNAL_TOPICS)
        for each in topic.partitions
        if given.rule(topic.name, each.partition_index)
    ]
    if not places:
        raise ValueError("Could not match any topic-partitions with the specified filters")
    for topic, index in sorted(places, key=lambda place: f"{place[0]}-{place[1]}"):
        try:
            found = admin_offsets.list_offsets(client, {(topic, index): given.time_ms})
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
        return java_long(text)
    except ValueError:
        raise ValueError(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or"
            " max-timestamp / -4 or earliest-local / -5 or latest-tiered / -6 or"
            " earliest-pending-upload, or a specified long format timestamp"
        ) from None


def _rule(given: argparse.Namespace) -> PartitionFilter:
    if given.topic_partitions is not None:
        rules = [_pattern_rule(text) for text in given.topic_partitions.split(",")]
        return lambda topic, index: any(rule(topic, index) for rule in rules)
    pattern = topic_pattern(given.topic or ".*")
    try:
        indexes = {java_int(text) for text in (given.partitions or "").split(",") if text}
    except ValueError:
        raise ValueError(
            f"--partitions expects a comma separated list of numeric partition ids, but received:"
            f" {given.partitions}"
        ) from None
    return lambda topic, index: (
        pattern.fullmatch(topic) is not None and (not indexes or index in indexes)
    )


def _pattern_rule(text: str) -> PartitionFilter:
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(f"Invalid rule specification: {text}")
    name, only, low, high = match.groups()
    pattern = topic_pattern(name or ".*")
    first = int(only or low or 0)
    end = first + 1 if only else int(high) if high else 1 << 31
    return lambda topic, index: pattern.fullmatch(topic) is not None and first <= index < end


TOOL: Final = Tool(options, _print, "listTopics", check=_check, print_failure=_print_failure)
