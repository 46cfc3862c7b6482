"""What requests show to the rules of faults."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from ...protocol.api_keys import ApiKey
from .subjects import Subjects, subjects_of

if TYPE_CHECKING:
    from ...broker.node import Node
    from ...broker.requests.context import Context


@cache
def api_name(api_key: ApiKey) -> str:
    """The name of an API as in Kafka's protocol: EndTxn."""
    return "".join(part.capitalize() for part in api_key.name.split("_"))


def name_of_key(key: int) -> str:
    """The name of an API by its number; a number for an unknown one."""
    try:
        return api_name(ApiKey(key))
    except ValueError:
        return f"ApiKey{key}"


def topic_name_of(node: Node) -> Callable[[UUID], str | None]:
    """The name of a topic by its id; None if there is none."""

    def name(topic_id: UUID) -> str | None:
        topic = node.catalog.topic_by_id(topic_id)
        return None if topic is None else topic.name

    return name


class RequestSight:
    """A decoded request and its connection, as `faults.Sight`.

    What the request names is found when the first rule asks for it.
    """

    def __init__(self, node: Node, context: Context, request: object) -> None:
        self._node = node
        self._context = context
        self._request = request
        self.api = api_name(context.api_key)
        self.version = context.version
        self.client_id = context.client_id
        self.node_id: int | None = node.node_id

    @property
    def principal(self) -> str:
        return self._context.principal.text

    @property
    def connection(self) -> str:
        return self._context.connection.id

    @property
    def listener(self) -> str:
        return self._context.connection.listener.name

    @cached_property
    def _subjects(self) -> Subjects:
        context = self._context
        names = topic_name_of(self._node)
        return subjects_of(context.api_key, context.version, self._request, names)

    @cached_property
    def partitions(self) -> Collection[tuple[str, int]]:
        named = self._subjects.partitions
        if self._context.api_key is not ApiKey.FETCH:
            return named
        session_id = getattr(self._request, "session_id", 0) or 0
        return {*named, *self._node.fetch_sessions.partitions_of(session_id)}

    @property
    def topics(self) -> Collection[str]:
        if self._context.api_key is ApiKey.FETCH:
            return {topic for topic, _ in self.partitions}
        return self._subjects.topics

    @property
    def transactional_ids(self) -> Collection[str]:
        return self._subjects.transactional_ids

    @property
    def producer_ids(self) -> Collection[int]:
        return self._subjects.producer_ids

    @property
    def groups(self) -> Collection[str]:
        return self._subjects.groups

    @property
    def members(self) -> Collection[str]:
        return self._subjects.members
