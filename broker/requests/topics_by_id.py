"""Names of topics in requests that give their ids: commits and fetches of offsets (KIP-848).

The coordinators keep offsets by the names of topics. A name is looked up once, before the guard of
the API; a topic that the cluster does not have keeps `UNNAMED`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from .context import PAUSE_EVERY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..node import Node
    from .context import Context

UNNAMED: Final = ""
"""The name of a topic whose id is unknown. No topic has it."""
NO_ID: Final = UUID(int=0)


class TopicById(Protocol):
    """A topic of a request: it has a name or, in newer versions, an id."""

    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> UUID | None: ...


async def name_topics(node: Node, context: Context, topics: Iterable[TopicById]) -> None:
    """Give each topic of a request the name that belongs to its id, or `UNNAMED`."""
    for passed, topic in enumerate(topics, 1):
        if passed % PAUSE_EVERY == 0:
            await context.turns.pause()
        known = None if topic.topic_id is None else node.catalog.topic_by_id(topic.topic_id)
        named: Any = topic  # Any: the protocols of messages are read-only
        named.name = UNNAMED if known is None else known.name


def id_of(node: Node, name: str) -> UUID:
    """The id of a topic; zero if there is none."""
    topic = node.catalog.topics.get(name)
    return NO_ID if topic is None else topic.topic_id
