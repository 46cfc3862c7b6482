"""A node of a broker process, which a test stops and starts alone."""

from __future__ import annotations

from collections.abc import Callable


class RunningNode:
    """One node of a broker process. `bootstrap` is its "HOST:PORT", or empty before a start.

    Args:
        order: sends an order to the process.
    """

    def __init__(self, order: Callable[..., str], node_id: int) -> None:
        self.node_id = node_id
        self.bootstrap = ""
        self._order = order

    def stop(self) -> None:
        """Answer pending requests and stop; other in-sync replicas take over its partitions."""
        self._order(f"stop {self.node_id}")

    def cut(self) -> None:
        """Like `stop`, but close all connections at once, without answers."""
        self._order(f"cut {self.node_id}")

    def start(self) -> None:
        """Start again on the same port; it does not get back the partitions that it led."""
        self._order(f"start {self.node_id}")
