"""Topics by variables of older images: CREATE_TOPICS and KAFKA_CREATE_TOPICS.

    CREATE_TOPICS=orders:3:1,users:1:1:compact

Each topic has a name, partitions, replicas, and perhaps a cleanup.policy.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLES: Final = ("CREATE_TOPICS", "KAFKA_CREATE_TOPICS")
SEPARATOR: Final = "KAFKA_CREATE_TOPICS_SEPARATOR"
_FORM: Final = "must be NAME:PARTITIONS:REPLICAS[:CLEANUP_POLICY], with commas between several"


class WrongTopics(Exception):
    """A text that describes no topic; it names the variable."""


class WantedTopic(NamedTuple):
    """A topic to create; an empty `cleanup_policy` is the broker's."""

    name: str
    partitions: int
    replicas: int
    cleanup_policy: str = ""


def topics_of(environ: Mapping[str, str]) -> list[WantedTopic]:
    """The topics of the variables. Raises WrongTopics."""
    found = []
    for variable in VARIABLES:
        text = environ.get(variable, "")
        separator = environ.get(SEPARATOR, "").replace("$'\\n'", "\n") or ","
        parts = (each.strip() for each in text.split(separator))
        found += [_topic(variable, part) for part in parts if part]
    return found


def _topic(variable: str, text: str) -> WantedTopic:
    name, *rest = (each.strip() for each in text.split(":"))
    if not name or not 2 <= len(rest) <= 3 or not all(each.isdecimal() for each in rest[:2]):
        raise WrongTopics(f"{variable}: {text}: {_FORM}")
    return WantedTopic(name, int(rest[0]), int(rest[1]), *rest[2:])


def create_topics(host: str, port: int, topics: Sequence[WantedTopic]) -> None:
    """Create the topics that do not exist; what fails is a line on standard error."""
    from ..client.admin.topics import create_topic
    from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
    from ..protocol.errors import Code

    try:
        with Client(host, port, client_id="ottla") as client:
            for topic in topics:
                policy = topic.cleanup_policy
                settings = {"cleanup.policy": policy} if policy else {}
                try:
                    create_topic(
                        client, topic.name, partitions=topic.partitions,
                        replication_factor=topic.replicas, settings=settings,
                    )  # fmt: skip
                except ErrorAnswer as refused:
                    if refused.code != Code.TOPIC_ALREADY_EXISTS:
                        sys.stderr.write(f"ottla: cannot create {refused}\n")
    except NoAnswer as failed:
        sys.stderr.write(f"ottla: cannot create topics: {failed}\n")
