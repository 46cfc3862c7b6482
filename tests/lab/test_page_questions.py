"""The questions of the page of a control: nodes that join later, and threads that ask at once."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from typing import Any

import pytest

from ottla.browse.local_http import Failure
from ottla.client.cluster_client import NoAnswer
from ottla.lab.control import operations
from ottla.lab.control.browsing import NodeClient
from ottla.protocol.api_keys import ApiKey


class SomeNode:
    """A node, as far as a client chooses one."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.runs = True


async def test_a_node_that_joins_or_comes_back_is_asked() -> None:
    first, second, again = SomeNode(1), SomeNode(2), SomeNode(2)
    served: Any = {first: None}
    client: Any = NodeClient(served, asyncio.get_running_loop())
    with pytest.raises(NoAnswer, match="node 2 is stopped"):
        client.ask(ApiKey.LIST_GROUPS, {}, node_id=2)
    served[second] = None
    assert client._running(2) is second
    second.runs = False
    with pytest.raises(NoAnswer, match="node 2 is stopped"):
        client.ask(ApiKey.LIST_GROUPS, {}, node_id=2)
    del served[second]
    served[again] = None
    assert client._running(2) is again
    assert client._running(None) is first
    first.runs = again.runs = False
    with pytest.raises(NoAnswer, match="no node runs"):
        client.ask(ApiKey.LIST_GROUPS, {})


class AddingExpression:
    """A path during whose comparison another thread adds one."""

    def fullmatch(self, path: str) -> None:
        operations._BY_PATH["added"] = (re.compile("added"), {})


def test_a_path_is_looked_up_while_another_thread_adds_questions() -> None:
    adding: Any = AddingExpression()
    operations._BY_PATH["adding"] = (adding, {})
    try:
        with pytest.raises(Failure, match="there is no /nothing"):
            operations.operation_for("GET", "/nothing")
    finally:
        del operations._BY_PATH["adding"], operations._BY_PATH["added"]


AT_ONCE = """
import threading
from ottla.lab.control import operations
threads = [threading.Thread(target=operations._add_questions) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
names = [each.name for each in operations.OPERATIONS]
print(len(names) - len(set(names)), "browseTopics" in names)
"""


def test_the_questions_are_added_once_if_threads_ask_first_at_once() -> None:
    """In a process of its own, because they are added once in a process."""
    run = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True)
    assert run.stdout == "0 True\n", run.stderr
