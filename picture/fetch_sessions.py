"""Which partitions a Fetch reads: a request of a fetch session names only what is new (KIP-227)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..trace.events import NO_FIELDS, Fields
from ..trace.exchanges import Exchange
from ..trace.messages import Names, structs, topic_name

Partition = tuple[str, int]


class FetchSessions:
    """The partitions of fetch sessions, while the requests of a trace go by.

    Args:
        names: the topics' names by id.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._sessions: dict[tuple[int, int], dict[Partition, None]] = {}  # by node and session

    def read_by(self, exchange: Exchange) -> list[Partition]:
        """The partitions that a Fetch reads, in the order in which they came into its session.

        A request may be given twice, if none of its session is in between.
        """
        fields = exchange.fields
        read = dict.fromkeys(self._named(fields, "topics"))
        session_id, epoch = fields.get("session_id", 0), fields.get("session_epoch", -1)
        if epoch > 0:
            gone = set(self._named(fields, "forgotten_topics_data"))
            known = self._sessions.get((exchange.node_id, session_id), {})
            read = {each: None for each in known if each not in gone} | read
        else:
            session_id = (exchange.response or NO_FIELDS).get("session_id", 0)
        if session_id:
            self._sessions[exchange.node_id, session_id] = read
        return [*read]

    def _named(self, fields: Fields, field: str) -> Iterator[Partition]:
        """The partitions of a list of topics, whose elements are structs or plain numbers."""
        for topic in structs(fields, field):
            for each in topic.get("partitions") or ():
                index = each.get("partition") if isinstance(each, Mapping) else each
                if isinstance(index, int):
                    yield topic_name(topic, self._names), index
