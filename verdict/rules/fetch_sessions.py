"""The partitions of fetch sessions (KIP-227): a Fetch names only what is new in its session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...trace.events import ConnectionClosed
from ...trace.exchanges import Exchange
from ...trace.messages import structs
from ..knowledge import Knowledge
from ..message_parts import Place, fetched_places, topic_of

_NO_SESSION: Final = -1


class FetchSessions:
    """What each Fetch asks for, with the partitions that its session has from before."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._sessions: dict[tuple[str, int], dict[Place, int]] = {}

    def asked(self, exchange: Exchange) -> Mapping[Place, int]:
        """The partitions that a Fetch asks for, with their offsets. Called once for each Fetch."""
        session = self._session_of(exchange)
        if session is None:
            return dict(fetched_places(exchange, self._knowledge))
        session.update(fetched_places(exchange, self._knowledge))
        for topic in structs(exchange.fields, "forgotten_topics_data"):
            for index in topic.get("partitions") or ():
                session.pop((topic_of(topic, self._knowledge), index), None)
        return session

    def answered(self, exchange: Exchange) -> Mapping[Place, int]:
        """The same when the Fetch is answered; the answer may begin a session."""
        session = self._session_of(exchange)
        if session is not None:
            return session
        found = dict(fetched_places(exchange, self._knowledge))
        session_id = int((exchange.response or {}).get("session_id") or 0)
        begins = exchange.fields.get("session_epoch", _NO_SESSION) == 0
        if session_id and begins and not exchange.error:
            self._sessions[exchange.connection, session_id] = found
        return found

    def closed(self, closed: ConnectionClosed) -> None:
        """A connection ended; its sessions are not continued on another one."""
        for key in [each for each in self._sessions if each[0] == closed.connection]:
            del self._sessions[key]

    def _session_of(self, exchange: Exchange) -> dict[Place, int] | None:
        if exchange.fields.get("session_epoch", _NO_SESSION) <= 0:
            return None
        key = exchange.connection, int(exchange.fields.get("session_id") or 0)
        return self._sessions.get(key)
