"""What all rules want to know: names of topics, live connections, and what brokers answered."""

from __future__ import annotations

from .exchange import Answered, Asked, Closed, Exchange, Opened, Step


class Knowledge:
    """State of the trace so far, which every rule may read.

    Attributes:
        live: the requests without an answer of each open connection, in their order.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self.live: dict[str, dict[int, Exchange]] = {}

    def topic(self, name_or_id: object) -> str:
        """The name of a topic by its name or id; the id if no Metadata answer named it."""
        text = str(name_or_id)
        return self._names.get(text, text)

    def see(self, step: Step) -> None:
        """Learn from a step, before the rules see it."""
        if isinstance(step, Asked):
            self.live.setdefault(step.exchange.connection, {})[step.exchange.seq] = step.exchange
        elif isinstance(step, Answered):
            self._answered(step.exchange)
        elif isinstance(step, Opened):
            self.live[step.connection] = {}

    def forget(self, step: Step) -> None:
        """Forget what ends with a step, after the rules saw it."""
        if isinstance(step, Closed):
            self.live.pop(step.connection, None)

    def _answered(self, exchange: Exchange) -> None:
        self.live.get(exchange.connection, {}).pop(exchange.seq, None)
        if exchange.api == "Metadata" and exchange.response is not None:
            for topic in exchange.response.get("topics") or ():
                if isinstance(topic, dict) and topic.get("topic_id") and topic.get("name"):
                    self._names[topic["topic_id"]] = topic["name"]
