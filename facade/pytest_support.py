"""The session's broker of the pytest plugin: it is checked after each test and replaced if dead."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from ottla.health import answers
from ottla.testing import BrokerFailed

if TYPE_CHECKING:
    from ottla.testing import Ottla, RunningNode


class OttlaWarning(UserWarning):
    """A test left the session's broker, or one of its nodes, dead; the text names the test."""


class SessionBroker:
    """Keeps the broker of a session running."""

    def __init__(self, broker: Ottla) -> None:
        self._broker = broker

    def check(self, test: str) -> None:
        """Warn, and start the broker or its nodes again, if they do not answer.

        Clients keep the address. The data stays, too, unless the broker cannot start with it.

        Args:
            test: the test that ends, for the warning.
        """
        silent = [node for node in self._broker.nodes.values() if _trouble(node) is not None]
        if not silent:
            return
        if self._broker.runs and len(silent) < len(self._broker.nodes):
            found = self._start_nodes(silent)
        else:
            found = self._start_broker()
        warnings.warn(OttlaWarning(f"{test} {found}"), stacklevel=2)

    def _start_nodes(self, silent: list[RunningNode]) -> str:
        numbers = ", ".join(str(node.node_id) for node in silent)
        for node in silent:
            node.start()
        return f"left node {numbers} of the session's broker stopped; it was started again"

    def _start_broker(self) -> str:
        found = "left the session's broker dead or without an answer"
        self._broker.kill()
        try:
            self._broker.start()
        except BrokerFailed:
            self._broker.empty()
            self._broker.start()
            return f"{found}; its data was damaged, so it was started again without data"
        return f"{found}; it was started again with its data, on the same port"


def _trouble(node: RunningNode) -> str | None:
    host, _, port = node.bootstrap.rpartition(":")
    return answers(host, int(port))
