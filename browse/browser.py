"""Asks a cluster for those who look: one question at a time, and none twice within two seconds.

Nothing is asked while no page is seen. Several viewers with the same view get one answer. What is
kept is the newest sweep of the catalog and a few answers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..client.admin.cluster import api_versions
from ..client.cluster_client import Client
from ..client.core import VERSIONS
from .catalog import Catalog, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

FRESH_S: Final = 2.0
"""An answer is given again for so long."""
_MOST_ANSWERS: Final = 64
_PATIENCE_S: Final = 20.0
_END_S: Final = 1.0
_Answer = TypeVar("_Answer")


class Busy(Exception):
    """Earlier questions take too long."""


class Browser:
    """The questions of all viewers of a cluster.

    Args:
        connects: makes the client, at the first question and after `close`. Raises NoAnswer.
        now_ms: the wall time of the brokers.
        monotonic_s: for the age of answers.
        may_change: whether viewers may abort transactions.
        has_lab: whether the page may show faults, clock and trace.
        control: of an Ottla: sends GET to a path, and returns the decoded answer.
    """

    def __init__(
        self,
        connects: Callable[[], Client],
        *,
        now_ms: Callable[[], int],
        monotonic_s: Callable[[], float],
        may_change: bool,
        has_lab: bool,
        control: Callable[[str], Any] | None = None,
    ) -> None:
        self._connects = connects
        self._monotonic_s = monotonic_s
        self._client: Client | None = None
        self._turn = threading.Lock()
        self._answers: OrderedDict[object, tuple[float, object]] = OrderedDict()
        self.now_ms = now_ms
        self.may_change = may_change
        self.has_lab = has_lab
        self.control = control

    def answered(self, question: object, asks: Callable[[Client], _Answer]) -> _Answer:
        """The answer to a question: a fresh one that is known, or a new one.

        Args:
            question: what is asked, to find its answer again.
            asks: asks it.

        Raises:
            Busy: others ask for too long. ErrorAnswer, NoAnswer: from the cluster.
        """
        with self._asking():
            answer: _Answer = self._known(question, asks)
            return answer

    def changed(self, changes: Callable[[Client], _Answer]) -> _Answer:
        """Make a change; all answers are old then. Raises as `answered`."""
        with self._asking() as client:
            self._answers.clear()
            return changes(client)

    def catalog(self) -> Catalog:
        """The nodes and topics; to be called by a question. Raises ErrorAnswer, NoAnswer."""
        found: Catalog = self._known("catalog", sweep)
        return found

    def close(self) -> None:
        """Close the connections, unless a question to a silent cluster keeps them."""
        if not self._turn.acquire(timeout=_END_S):
            return
        try:
            if self._client is not None:
                self._client.close()
                self._client = None
        finally:
            self._turn.release()

    @contextmanager
    def _asking(self) -> Iterator[Client]:
        if not self._turn.acquire(timeout=_PATIENCE_S):
            raise Busy("the cluster answers earlier questions too slowly")
        try:
            if self._client is None:
                self._client = _with_its_versions(self._connects())
            yield self._client
        finally:
            self._turn.release()

    def _known(self, question: object, asks: Callable[[Client], Any]) -> Any:
        # Any: answers of all types.
        known = self._answers.get(question)
        if known is not None and self._monotonic_s() - known[0] < FRESH_S:
            return known[1]
        assert self._client is not None, "a question outside of a turn"
        answer = asks(self._client)
        self._answers[question] = (self._monotonic_s(), answer)
        self._answers.move_to_end(question)
        while len(self._answers) > _MOST_ANSWERS:
            self._answers.popitem(last=False)
        return answer


def _with_its_versions(client: Client) -> Client:
    """The client, with the versions of a broker that is older than the client."""
    served = api_versions(client)
    client.highest_versions = {
        api_key: served[api_key][1]
        for api_key, version in VERSIONS.items()
        if api_key in served and served[api_key][1] < version
    }
    return client
