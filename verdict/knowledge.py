"""What all rules want to know: names of topics, live connections, and what brokers answered."""

from __future__ import annotations

from ..trace.events import ConnectionClosed, ConnectionOpened
from ..trace.exchanges import ON_THE_WAY_MS, Exchange
from ..trace.messages import topic_names


class Knowledge:
    """State of the trace so far, which every rule may read.

    Attributes:
        live: the requests without an answer of each open connection, in their order.
        now_ms: the time of the newest event.
        ended: the connections that have ended.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.live: dict[str, dict[int, Exchange]] = {}
        self.now_ms = 0
        self.ended: set[str] = set()

    def topic(self, name_or_id: object) -> str:
        """The name of a topic by its name or id; the id if no answer named it."""
        text = str(name_or_id)
        return self._names.get(text, text)

    def see_request(self, asked: Exchange) -> None:
        """A request came in, which the rules have not seen yet."""
        self.now_ms = max(self.now_ms, asked.at_ms)
        self.live.setdefault(asked.connection, {})[asked.seq] = asked

    def see_answer(self, answered: Exchange) -> None:
        """A request was answered, or given up."""
        self.now_ms = max(self.now_ms, answered.answered_at_ms)
        self.live.get(answered.connection, {}).pop(answered.seq, None)
        self._names |= topic_names((answered.answer,))

    def see_opening(self, opened: ConnectionOpened) -> None:
        """A client has connected."""
        self.now_ms = max(self.now_ms, opened.at_ms)
        self.live[opened.connection] = {}

    def see_closing(self, closed: ConnectionClosed) -> None:
        """A connection has ended; its requests are known until `forget`."""
        self.now_ms = max(self.now_ms, closed.at_ms)
        self.ended.add(closed.connection)

    def forget(self, closed: ConnectionClosed) -> None:
        """Forget what ends with a connection, after the rules saw that."""
        self.live.pop(closed.connection, None)

    def had_time(self, told: Exchange) -> bool:
        """Whether a client could act on an answer before the trace, or its connection, ended."""
        return self.now_ms >= told.answered_at_ms + ON_THE_WAY_MS or told.connection in self.ended
