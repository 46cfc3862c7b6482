"""Internal topics of Streams groups, which `kafka-streams-groups` deletes with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ...client.admin.streams_groups import describe_streams_group
from ...client.admin.topics import delete_topic
from ...client.cluster_client import Client, ErrorAnswer
from ..texts import line

_INTERNAL: Final = re.compile(
    r".*(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|.-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)


def internal_topics_of(client: Client, group_id: str) -> list[str]:
    """The internal topics of a group's topology; prints those whose names are not such ones.

    Raises:
        ErrorAnswer: the coordinator refuses.
    """
    topics = []
    for topic in describe_streams_group(client, group_id).internal_topics:
        if topic.startswith(f"{group_id}-") and _INTERNAL.fullmatch(topic):
            topics.append(topic)
            continue
        line(
            f"\nError: The internal topic '{topic}' is not inferred as internal and thus will not"
            f" be deleted with the group '{group_id}'."
        )
    return topics


def delete_topics(client: Client, topics: Sequence[str]) -> None:
    """Delete all of the topics that can be deleted. Raises the ErrorAnswer of the first other."""
    failed: list[ErrorAnswer] = []
    for topic in topics:
        try:
            delete_topic(client, topic)
        except ErrorAnswer as refused:
            failed.append(refused)
            line(f"Failed to delete internal topic: {topic}")
    if failed:
        raise failed[0]
