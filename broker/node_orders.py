"""Orders to the nodes of a cluster: stop, kill and start one, and move leaders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from ..protocol.errors import Code, Refused
from ..protocol.java_integers import number_in
from .net.sockets import NodeSockets
from .node import Node


class WrongOrder(Exception):
    """An order that cannot be carried out; the text says why in one sentence."""


class NodeOrders:
    """Carries out orders, one after the other.

    Args:
        served: the nodes and their sockets; others may be added to it.

    Attributes:
        on_killed: called with the id of a node whose connections were cut, before others take over.
    """

    def __init__(self, served: Mapping[Node, NodeSockets]) -> None:
        self._served = served
        self._one_at_a_time = asyncio.Lock()
        self._taking_over: set[asyncio.Task[None]] = set()
        self.on_killed: Callable[[int], None] = lambda node_id: None

    @property
    def nodes(self) -> dict[int, Node]:
        """The nodes by id: also those that other processes have joined with meanwhile."""
        return {node.node_id: node for node in self._served}

    @property
    def _sockets(self) -> dict[int, NodeSockets]:
        return {node.node_id: door for node, door in self._served.items()}

    def node_id(self, text: str) -> int:
        """The id of a node. Raises WrongOrder if there is none."""
        number = number_in(text)
        if number is None or number not in self.nodes:
            raise WrongOrder(f"node {text} does not exist; nodes: {_listed(self.nodes)}")
        return number

    async def stop(self, node_id: int, *, at_once: bool = False) -> None:
        """Stop a node; other nodes take over its partitions.

        Args:
            at_once: cut its connections, as a kill does, instead of answering current requests.

        Raises:
            WrongOrder: it does not run.
        """
        async with self._one_at_a_time:
            node, door = self.nodes[node_id], self._sockets[node_id]
            if not node.runs:
                raise WrongOrder(f"node {node_id} does not run")
            door.refuse()
            if at_once:
                door.cut()
                self.on_killed(node_id)
            else:
                door.begin_drain()
            node.leave()
            await door.drained()
            with suppress(OSError):
                door.bind()  # without listening: no other socket gets the port meanwhile

    def crash(self, node_id: int) -> None:
        """Let a running node die in the middle of what it does, without an answer to anything.

        What called this may go on: the node coordinates nothing any more, and no client hears from
        it. Others take over its partitions in the next turn of the event loop.
        """
        node, door = self.nodes[node_id], self._sockets[node_id]
        door.refuse()
        door.cut()
        node.stop_coordinating()
        self.on_killed(node_id)
        task = asyncio.get_running_loop().create_task(self._take_over(node, door))
        self._taking_over.add(task)
        task.add_done_callback(self._taking_over.discard)

    async def _take_over(self, node: Node, door: NodeSockets) -> None:
        node.leave()
        async with self._one_at_a_time:
            await door.drained()
            if not node.runs:
                with suppress(OSError):
                    door.bind()  # as in `stop`

    async def start(self, node_id: int) -> None:
        """Start a node again. Raises WrongOrder if it runs, OSError if its port is taken."""
        async with self._one_at_a_time:
            node, door = self.nodes[node_id], self._sockets[node_id]
            if node.runs:
                raise WrongOrder(f"node {node_id} runs")
            door.bind()
            node.come_back(door.advertised)
            await door.open(node)

    def lead(self, topic: str, partition: str, node_id: int) -> None:
        """Make a node the leader of a partition, or of all partitions of a topic.

        Args:
            partition: its index; * means all.

        Raises:
            WrongOrder: there is no such partition, or the node is not in sync with it.
        """
        controller = self.nodes[node_id].controller
        known = controller.catalog.topics.get(topic)
        if known is None:
            raise WrongOrder(f"topic {topic} does not exist")
        count = len(known.partitions)
        only = 0 if partition == "*" else number_in(partition)
        if only is None or not 0 <= only < count:
            numbers = "0" if count == 1 else f"0 to {count - 1}"
            raise WrongOrder(f"partition {topic}-{partition} does not exist; partitions: {numbers}")
        for index in range(count) if partition == "*" else [only]:
            try:
                controller.change_leader(topic, index, node_id)
            except Refused as refused:
                if refused.code == Code.ELIGIBLE_LEADERS_NOT_AVAILABLE:
                    isr = _listed(known.partitions[index].isr)
                    why = (
                        f"node {node_id} is not in sync with {topic}-{index}; nodes in sync: {isr}"
                    )
                    raise WrongOrder(why) from None
                if refused.code != Code.ELECTION_NOT_NEEDED:  # the node leads it
                    raise WrongOrder(str(refused)) from None


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
