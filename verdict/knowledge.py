"""What all rules want to know: names of topics, live connections, and what brokers answered."""

from __future__ import annotations

from .exchange import ON_THE_WAY_MS, Answered, Asked, Closed, Exchange, Opened, Step


class Knowledge:
    """State of the trace so far, which every rule may read.

    Attributes:
        live: the requests without an answer of each open connection, in their order.
        now_ms: the time of the newest step.
        ended: the connections that have ended.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.live: dict[str, dict[int, Exchange]] = {}
        self.now_ms = 0
        self.ended: set[str] = set()

    def topic(self, name_or_id: object) -> str:
        """The name of a topic by its name or id; the id if no Metadata answer named it."""
        text = str(name_or_id)
        return self._names.get(text, text)

    def see(self, step: Step) -> None:
        """Learn from a step, before the rules see it."""
        self.now_ms = max(self.now_ms, _time_of(step))
        if isinstance(step, Asked):
            self.live.setdefault(step.exchange.connection, {})[step.exchange.seq] = step.exchange
        elif isinstance(step, Answered):
            self._answered(step.exchange)
        elif isinstance(step, Opened):
            self.live[step.connection] = {}
        else:
            self.ended.add(step.connection)

    def forget(self, step: Step) -> None:
        """Forget what ends with a step, after the rules saw it."""
        if isinstance(step, Closed):
            self.live.pop(step.connection, None)

    def had_time(self, told: Exchange) -> bool:
        """Whether a client could act on an answer before the trace, or its connection, ended."""
        return self.now_ms >= told.answered_at_ms + ON_THE_WAY_MS or told.connection in self.ended

    def _answered(self, exchange: Exchange) -> None:
        self.live.get(exchange.connection, {}).pop(exchange.seq, None)
        if exchange.api == "Metadata" and exchange.response is not None:
            for topic in exchange.response.get("topics") or ():
                if isinstance(topic, dict) and topic.get("topic_id") and topic.get("name"):
                    self._names[topic["topic_id"]] = topic["name"]


def _time_of(step: Step) -> int:
    if isinstance(step, Asked):
        return step.exchange.at_ms
    return step.exchange.answered_at_ms if isinstance(step, Answered) else step.at_ms
