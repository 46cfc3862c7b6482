"""Plans of kafka-reassign-partitions: read from JSON, printed as JSON, proposed.

The format is that of ReassignPartitionsCommand:
`{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}`.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..client.admin.groups import Place
from .partition_files import MAPPING, WrongContent, number
from .session import Failure

_PACKAGE: Final = "org.apache.kafka.tools"
ANY: Final = "any"
"""The log directory that the broker chooses."""

Replicas = Mapping[Place, Sequence[int]]
"""The brokers that have a partition's replicas, the preferred leader first."""


def refused(message: str) -> Failure:
    """The failure of a plan that cannot be done."""
    return Failure(message, f"{_PACKAGE}.AdminCommandFailedException")


def read_text(path: str) -> str:
    """The content of a file. Raises Failure."""
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError):
        raise Failure(f"Unable to read file {path}", "java.io.IOException") from None


def read_plan(text: str) -> tuple[dict[Place, list[int]], dict[tuple[Place, int], str]]:
    """The replicas by partition, and the log directories by partition and broker.

    Raises:
        Failure: the text is no plan, or names something twice.
    """
    content = _json(text)
    if content.get("version") != 1:
        raise _no_plan(f"Not supported version field value {content.get('version')}")
    listed: list[tuple[Place, list[int]]] = []
    directories: dict[tuple[Place, int], str] = {}
    try:
        for each in content["partitions"]:
            place = str(each["topic"]), number(each["partition"], "Integer")
            replicas = [number(node, "Integer") for node in each["replicas"]]
            paths = each.get("log_dirs") or [ANY] * len(replicas)
            if len(paths) != len(replicas):
                raise _no_plan(
                    f"Size of replicas list {replicas} is different from size of log dirs list"
                    f" {paths} for partition {name_of(place)}"
                )
            listed.append((place, replicas))
            directories |= {
                (place, node): path
                for node, path in zip(replicas, paths, strict=True)
                if path != ANY
            }
    except WrongContent as wrong:
        raise Failure(str(wrong), MAPPING) from None
    except (KeyError, TypeError, ValueError) as wrong:
        raise _no_plan(f"The partitions of the plan are wrong: {wrong}") from None
    _check_plan(listed)
    return dict(listed), directories


def _check_plan(listed: Sequence[tuple[Place, list[int]]]) -> None:
    if not listed:
        raise refused("Partition reassignment list cannot be empty")
    for place, replicas in listed:
        if not replicas:
            raise refused(f"Partition replica list cannot be empty for {name_of(place)}")
    counts = Counter(place for place, _ in listed)
    if twice := sorted(name_of(each) for each, count in counts.items() if count > 1):
        raise refused(
            f"Partition reassignment contains duplicate topic partitions: {','.join(twice)}"
        )
    wrong = [
        f"{name_of(place)} contains multiple entries for {','.join(map(str, repeated))}"
        for place, replicas in listed
        if (repeated := sorted({node for node in replicas if replicas.count(node) > 1}))
    ]
    if wrong:
        raise refused(
            f"Partition replica lists may not contain duplicate entries: {'. '.join(wrong)}"
        )


def read_topics(text: str) -> list[str]:
    """The topics of --topics-to-move-json-file. Raises Failure."""
    try:
        content = json.loads(text)
        version = content.get("version", 1)
        topics = [str(each["topic"]) for each in content["topics"]]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise _no_plan("The input string is not a valid JSON") from None
    if version != 1:
        raise _no_plan(f"Not supported version field value {version}")
    if twice := sorted(name for name, count in Counter(topics).items() if count > 1):
        raise refused(f"List of topics to reassign contains duplicate entries: {twice}")
    return topics


def plan_text(replicas: Replicas, directories: Mapping[tuple[Place, int], str]) -> str:
    """A plan as the tool prints it, in the order of partitions."""
    partitions = [
        {
            "topic": topic,
            "partition": index,
            "replicas": list(replicas[topic, index]),
            "log_dirs": [
                directories.get(((topic, index), node), ANY) for node in replicas[topic, index]
            ],
        }
        for topic, index in sorted(replicas)
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def proposed_plan(current: Replicas, brokers: Sequence[int]) -> dict[Place, list[int]]:
    """Replicas of the partitions on these brokers: striped, from a random broker on.

    Raises:
        Failure: a partition has more replicas than there are brokers.
    """
    proposed: dict[Place, list[int]] = {}
    for topic in sorted({topic for topic, _ in current}):
        places = sorted(place for place in current if place[0] == topic)
        factor = len(current[places[0]])
        if not brokers:
            raise Failure(
                "All brokers are currently fenced, or have all their log directories cordoned.",
                "org.apache.kafka.common.errors.InvalidReplicationFactorException",
            )
        if factor > len(brokers):
            raise Failure(
                f"The target replication factor of {factor} cannot be reached because only"
                f" {len(brokers)} broker(s) are registered or some brokers have all their log"
                " directories cordoned.",
                "org.apache.kafka.common.errors.InvalidReplicationFactorException",
            )
        first = random.randrange(len(brokers))
        for at, place in enumerate(places):
            proposed[place] = [brokers[(first + at + k) % len(brokers)] for k in range(factor)]
    return proposed


def name_of(place: Place) -> str:
    """A partition as the tools write it: topic-0."""
    return f"{place[0]}-{place[1]}"


def _json(text: str) -> dict[str, Any]:  # Any: values of JSON
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise _no_plan(f"The input string is not a valid JSON: {wrong}") from None
    if not isinstance(content, dict):
        raise _no_plan("The input string is not a valid JSON")
    return content


def _no_plan(message: str) -> Failure:
    return Failure(message, f"{_PACKAGE}.AdminOperationException")
