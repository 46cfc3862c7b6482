"""Topics by variables of older images: CREATE_TOPICS and KAFKA_CREATE_TOPICS.

    CREATE_TOPICS=orders:3:1,users:1:1:compact

Each topic has a name, partitions, replicas, and perhaps a cleanup.policy. The process that runs the
cluster creates them itself, before it is announced: no listener is asked, so that no login is
needed. One that joins asks by its first listener.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from ..protocol.java_integers import number_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..broker.cluster import Cluster

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
        found += topics_in(variable, text.split(separator))
    return found


def topics_in(variable: str, texts: Iterable[str]) -> list[WantedTopic]:
    """The topics that texts describe, one each; empty ones are passed over.

    Raises:
        WrongTopics: a text describes no topic; the error names the variable.
    """
    parts = (each.strip() for each in texts)
    return [_topic(variable, part) for part in parts if part]


def lines_of(topics: Iterable[WantedTopic]) -> str:
    """The topics as the lines that `topics_in` reads."""
    return "\n".join(":".join(map(str, each)).rstrip(":") for each in topics)


def _topic(variable: str, text: str) -> WantedTopic:
    name, *rest = (each.strip() for each in text.split(":"))
    partitions, replicas = [*(_count(each) for each in rest), None, None][:2]
    if not name or len(rest) > 3 or partitions is None or replicas is None:
        raise WrongTopics(f"{variable}: {text}: {_FORM}")
    return WantedTopic(name, partitions, replicas, *rest[2:])


def _count(text: str) -> int | None:
    return number_in(text) if text.isdecimal() else None


def create_in(cluster: Cluster, topics: Sequence[WantedTopic]) -> None:
    """Create the topics that do not exist; what fails is a line on standard error."""
    from ..broker.log_output import write_error
    from ..metadata.catalog import MAX_PARTITIONS_PER_REQUEST
    from ..protocol.errors import Code, Refused

    for topic in topics:
        if topic.partitions > MAX_PARTITIONS_PER_REQUEST:  # as by CreateTopics
            why = f"{topic.partitions} partitions; {MAX_PARTITIONS_PER_REQUEST} are the most"
            write_error(f"ottla: cannot create {topic.name}: {why}\n")
            continue
        try:
            cluster.controller.create_topic(
                topic.name, partitions=topic.partitions, replication_factor=topic.replicas,
                configs=_settings(topic),
            )  # fmt: skip
        except Refused as refused:
            if refused.code is not Code.TOPIC_ALREADY_EXISTS:
                write_error(f"ottla: cannot create {topic.name}: {refused}\n")


def _settings(topic: WantedTopic) -> dict[str, str]:
    return {"cleanup.policy": topic.cleanup_policy} if topic.cleanup_policy else {}


def create_topics(host: str, port: int, topics: Sequence[WantedTopic]) -> None:
    """The same by a listener, as a client that does not log in."""
    from ..client.admin.topics import create_topic
    from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
    from ..protocol.errors import Code

    try:
        with Client(host, port, client_id="ottla") as client:
            for topic in topics:
                try:
                    create_topic(
                        client, topic.name, partitions=topic.partitions,
                        replication_factor=topic.replicas, settings=_settings(topic),
                    )  # fmt: skip
                except ErrorAnswer as refused:
                    if refused.code != Code.TOPIC_ALREADY_EXISTS:
                        sys.stderr.write(f"ottla: cannot create {refused}\n")
    except NoAnswer as failed:
        sys.stderr.write(f"ottla: cannot create topics: {failed}\n")
