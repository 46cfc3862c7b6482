"""`kafka-leader-election`: elect leaders of partitions (LeaderElectionCommand)."""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from typing import Final

from ..client.admin import topics as admin_topics
from ..client.cluster_client import Client
from ..protocol.errors import Code
from .options import Options, WrongOptions, has, require
from .partition_files import MAPPING, WrongContent, WrongFile, content_of, partitions_of
from .session import exception_message, exception_name, properties_in
from .texts import error_line, line
from .tool import Tool

_TYPES: Final = {"preferred": admin_topics.PREFERRED, "unclean": admin_topics.UNCLEAN}
_PLACES: Final = ("topic", "all-topic-partitions", "path-to-json-file")


def options() -> Options:
    """The options of the tool."""
    made = Options(
        "kafka-leader-election", "Attempts to elect a new leader for a set of topic partitions."
    )
    made.server(config="--admin.config")
    made.value("--command-config", "file with properties of the client")
    made.value("--election-type", "preferred or unclean")
    made.value("--topic", "the topic of --partition")
    made.value("--partition", "the index of a partition", number=True)
    made.flag("--all-topic-partitions", "every partition")
    made.value("--path-to-json-file", "file with the partitions")
    return made


def _check(given: argparse.Namespace) -> None:
    require(given, "bootstrap-server", "election-type")
    if given.election_type.lower() not in _TYPES:
        raise WrongOptions(f"Cannot parse argument '{given.election_type}' of option election-type")
    chosen = [name for name in _PLACES if has(given, name)]
    if len(chosen) != 1:
        raise WrongOptions(
            "One and only one of the following options is required: " + ", ".join(_PLACES)
        )
    if given.topic is not None and given.partition is None:
        require(given, "partition")
    given.places = None
    if given.topic is not None:
        given.places = {given.topic: [given.partition]}
    elif given.path_to_json_file is not None:
        given.places = defaultdict(list)
        for topic, (index,) in _places_in(given.path_to_json_file):
            given.places[topic].append(index)


def _places_in(path: str) -> list[tuple[str, list[int]]]:
    """Topic and number of each partition in a file. Raises ValueError."""
    try:
        content = content_of(path)
        if content is None:
            raise ValueError("Replica election data is empty")
        if "partitions" not in content:
            raise ValueError('Replica election data is missing "partitions" field')
        found = partitions_of(content["partitions"], partition="Integer")
    except WrongContent as wrong:
        raise ValueError(f"{MAPPING}: {wrong}") from None
    except WrongFile as wrong:
        raise ValueError(f"java.io.IOException: {wrong}") from None
    counts = Counter((topic, index) for topic, (index,) in found)
    if twice := [f"{topic}-{index}" for (topic, index), count in counts.items() if count > 1]:
        raise ValueError(
            f"Replica election data contains duplicate partitions: [{', '.join(twice)}]"
        )
    return found


def _elect(client: Client, given: argparse.Namespace) -> int:
    kind = given.election_type.lower()
    done, needless, failed = [], [], []
    for each in admin_topics.elect_leaders(client, _TYPES[kind], given.places):
        name = f"{each.topic}-{each.partition}"
        match each.error_code:
            case Code.NONE:
                done.append(name)
            case Code.ELECTION_NOT_NEEDED:
                needless.append(name)
            case code:
                why = each.message or exception_message(code)
                failed.append(
                    f"Error completing leader election ({kind.upper()}) for partition: {name}:"
                    f" {exception_name(code)}: {why}"
                )
    if done:
        line(
            f"Successfully completed leader election ({kind.upper()}) for partitions"
            f" {', '.join(done)}"
        )
    if needless:
        line(f"Valid replica already elected for partitions {', '.join(needless)}")
    for text in failed:
        line(text)
    if failed:
        error_line(f"{len(failed)} replica(s) could not be elected")
    return 1 if failed else 0


TOOL: Final = Tool(
    options,
    _elect,
    "electLeaders",
    check=_check,
    settings=lambda given: properties_in(given.command_config or getattr(given, "admin.config")),
)
