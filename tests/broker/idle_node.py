"""A real node without sockets and timers, for tests of what stands in front of a node."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from ottla.broker.node import Node
from ottla.broker.settings.config import BrokerConfig
from tests.clocks import LoopClock


@cache
def idle_node() -> Node:
    """The node of all tests of a process that do not change it."""
    directory = TemporaryDirectory()
    node = Node(BrokerConfig.from_settings({}), Path(directory.name), LoopClock())
    atexit.register(directory.cleanup)
    atexit.register(node.close, clean=False)
    return node
