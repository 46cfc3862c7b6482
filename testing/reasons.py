"""Why a test waits: the sentences of `why/` for a broker of a test, in bounded time.

A question of a time-out runs in a thread of its own, which the test leaves after a deadline: a
broker that hangs must not make a test hang that has just given up.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from .arguments import check_number

if TYPE_CHECKING:
    from ..client.cluster_client import Client
    from ..why.explanation import Explanation
    from ..why.facts import Subject
    from .lab import LabClient

_QUESTION_S: Final = 10.0
_SHOWN: Final = 5


class BrokerReasons(ABC):
    """The part of a broker of a test that says why something waits.

    Attributes:
        reasons_deadline_s: the time for the sentences in the text of a time-out.
    """

    reasons_deadline_s: float = 2.0

    @abstractmethod
    def _client(self) -> Client: ...

    @abstractmethod
    def lab(self) -> LabClient:
        """Requests to the control of the broker."""

    def why(
        self,
        topic: str | None = None,
        *,
        partition: int | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        patience_s: float = 0.0,
    ) -> Explanation:
        """Why is it stuck? What waits for what, and what to do (docs/how-to/why.md).

        Args:
            topic, partition, group, transactional_id: what the question is about; without any of
                them it is the whole broker.
            patience_s: what is under way for a shorter time is not called stuck.

        Raises:
            NoAnswer: the broker does not answer.
            BrokerFailed: it was not started.
            ValueError, TypeError: a partition without a topic, or no number.
        """
        from ..why.facts import Subject

        check_number("partition", partition)
        if partition is not None and topic is None:
            raise ValueError(f"partition={partition}: a topic was expected, too")
        subject = Subject(topic, partition, group, transactional_id)
        return self._explained(subject, patience_s, _QUESTION_S)

    def _explained(self, subject: Subject, patience_s: float, deadline_s: float) -> Explanation:
        from ..why.collector import collect
        from ..why.explanation import Explanation

        with self._client() as client:
            lab = self.lab()

            def control(path: str) -> Any:  # Any: JSON
                return lab.call("GET", path)

            facts = collect(client, subject, control=control, deadline_s=deadline_s)
        return Explanation.of(facts, patience_ms=round(1000 * patience_s))

    def _why_waiting(self, topic: str | None = None) -> str:
        """Lines for the end of an error's text; empty if there is no answer in time."""
        from ..why.facts import Subject

        found: list[Explanation] = []

        def ask() -> None:
            try:
                found.append(self._explained(Subject(topic), 0.0, self.reasons_deadline_s))
            except Exception:  # the error of the test is what matters
                return

        asking = threading.Thread(target=ask, name="ottla-why", daemon=True)
        asking.start()
        asking.join(self.reasons_deadline_s)
        return "\n".join(["", *lines_of(found[0])]) if found else ""


def lines_of(explanation: Explanation) -> list[str]:
    """The first sentences, each with its advice, for the text of an error."""
    if not explanation.findings:
        return ["Ottla sees nothing that is stuck."]
    lines = ["Why?"]
    for each in explanation.findings[:_SHOWN]:
        lines.append(f"- {each.sentence}")
        if each.advice:
            lines.append(f"  {each.advice}")
    return lines
