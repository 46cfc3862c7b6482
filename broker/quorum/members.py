"""The nodes whose listeners are in other processes: they join, leave, and return.

Each is a node of this process, with the settings that the other process sends. Its sockets here are
for the other nodes alone, at free ports of 127.0.0.1.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ...security.jaas import LoginModule
from ..clock import Clock
from ..cluster import Cluster
from ..log_output import Log
from ..net.sockets import NodeSockets
from ..node import Node
from ..node_orders import NodeOrders, WrongOrder
from ..settings.config import BadSetting, BrokerConfig
from ..settings.quorum import with_kafkas_replication
from .lines import Fields

_LAST_PORT: Final = 0xFFFF
_log = Log("nodes")


class CannotJoin(Exception):
    """A process that may not join; the text says why.

    Attributes:
        may_try_again: whether that may change by itself.
    """

    def __init__(self, why: str, *, may_try_again: bool = False) -> None:
        super().__init__(why)
        self.may_try_again = may_try_again


class Joining(NamedTuple):
    """What a process says of itself when it joins.

    Attributes:
        node_id: its node.id.
        is_broker: whether it has listeners for clients.
        settings: its settings, as text by name.
        ports: the ports of its listeners, by name.
        sections: the login modules of its JAAS file, by section.
        cluster_id: of the cluster that it wants to join; None for any.
    """

    node_id: int
    is_broker: bool
    settings: dict[str, str]
    ports: dict[str, int]
    sections: dict[str, list[LoginModule]]
    cluster_id: str | None

    @classmethod
    def of_line(cls, fields: Fields) -> Joining:
        """From the fields of a line. Raises ValueError if one is missing or of another kind."""
        return cls(
            fields.number("node_id"), fields.flag("is_broker"), fields.texts("settings"),
            _ports(fields.numbers("ports")),
            {
                name: [_module(each) for each in found]
                for name, found in fields.lists("sections").items()
            },
            fields.text_or_none("cluster_id"),
        )  # fmt: skip


def _ports(found: dict[str, int]) -> dict[str, int]:
    if not all(0 <= port <= _LAST_PORT for port in found.values()):
        raise ValueError(f"ports must be between 0 and {_LAST_PORT}")
    return found


def _module(value: object) -> LoginModule:
    match value:
        case [str(name), str(flag), dict(options)]:
            return LoginModule(name, flag, options)
    raise ValueError("a login module has a name, a flag and options")


class Members:
    """The nodes of other processes.

    Args:
        cluster: of this process.
        served: its running and stopped nodes; those that join are added.
        data_dir: of the cluster.
        clock: the time.
        on_added: each is called with a node that is new, before it runs.
    """

    def __init__(
        self,
        cluster: Cluster,
        served: dict[Node, NodeSockets],
        data_dir: Path | str,
        clock: Clock,
        on_added: Sequence[Callable[[Node, NodeSockets], None]] = (),
    ) -> None:
        self.cluster = cluster
        self._served = served
        self._data_dir = data_dir
        self._clock = clock
        self._on_added = on_added
        self._orders = NodeOrders(served)
        self._keys: dict[int, str] = {}  # of the processes that are joined, by node id
        self._known: dict[int, tuple[Joining, Node]] = {}

    @property
    def cluster_id(self) -> str:
        """The id of the cluster."""
        return self.cluster.log_directory.cluster_id

    async def join(self, joining: Joining) -> str:
        """Let the node of a process run; return a key for the connections of its clients.

        Raises:
            CannotJoin: the process belongs to another cluster, its settings are wrong, or another
                process has its node id.
        """
        if joining.cluster_id not in (None, self.cluster_id):
            why = f"CLUSTER_ID is {joining.cluster_id}, and the cluster's is {self.cluster_id}"
            raise CannotJoin(why)
        if joining.node_id in self._keys or joining.node_id in self._ids_here():
            why = f"another process is node {joining.node_id}"
            raise CannotJoin(why, may_try_again=True)
        key = self._keys[joining.node_id] = secrets.token_hex(16)
        try:
            if joining.is_broker:
                await self._run(joining)
        except BaseException:  # whatever it is, the process may try again
            del self._keys[joining.node_id]
            raise
        _log.info("a process has joined the cluster", node=joining.node_id)
        return key

    def _ids_here(self) -> set[int]:
        """The ids of nodes whose listeners are in this process."""
        return self.cluster.nodes.keys() - self._known.keys()

    async def _run(self, joining: Joining) -> None:
        before, node = self._known.get(joining.node_id, (None, None))
        if node is not None and before == joining:
            with suppress(WrongOrder):  # the control has started it meanwhile
                try:
                    await self._orders.start(joining.node_id)
                except OSError as taken:
                    raise CannotJoin(str(taken), may_try_again=True) from None
            return
        try:
            config = self._config_of(joining)
            if config.node_id != joining.node_id:
                why = f"it joins as node {joining.node_id}, and its node.id is {config.node_id}"
                raise CannotJoin(why)
            door = NodeSockets(config, self._clock, passed_on=joining.ports)
        except (BadSetting, OSError) as wrong:
            raise CannotJoin(str(wrong)) from None
        if node is not None:
            with suppress(WrongOrder):  # it runs only if the control has started it meanwhile
                await self._orders.stop(joining.node_id, at_once=True)
            self._served.pop(node).refuse()
        made = Node(config, self._data_dir, self._clock, cluster=self.cluster)
        self._known[joining.node_id] = joining, made
        self._served[made] = door
        for tell in self._on_added:
            tell(made, door)
        made.start(door.advertised)
        await door.open(made)

    def _config_of(self, joining: Joining) -> BrokerConfig:
        """The settings of the other process, with the directory of this one. Raises BadSetting."""
        sections = {name: tuple(found) for name, found in joining.sections.items()}
        given = {name: text for name, text in joining.settings.items() if name != "log.dir"}
        given["log.dirs"] = self.cluster.config.log_dirs[0]
        config = BrokerConfig.from_settings(given, "", sections)
        # As those of this process (server.py): the node asks for internal topics by its settings.
        awaits = self.cluster.controller.awaits_replicas
        return with_kafkas_replication(config) if awaits else config

    async def leave(self, node_id: int, *, at_once: bool) -> None:
        """Stop the node of a process that ends, or whose connection is lost.

        Args:
            at_once: cut its connections instead of answering current requests.
        """
        if node_id in self._known:
            with suppress(WrongOrder):  # the control has stopped it before
                await self._orders.stop(node_id, at_once=at_once)
        self._keys.pop(node_id, None)
        _log.info("a process has left the cluster", node=node_id, killed=at_once)

    def door_of(self, node_id: int, key: str) -> NodeSockets:
        """The sockets of a node that runs, for a connection of a client.

        Raises:
            ValueError: it does not, or no such process has joined.
        """
        wanted = self._keys.get(node_id)
        is_right = wanted is not None and secrets.compare_digest(wanted.encode(), key.encode())
        if not is_right or node_id not in self._known:
            raise ValueError(f"no process has joined as node {node_id} with this key")
        door = self._served[self._known[node_id][1]]
        if not door.is_open:
            raise ValueError(f"node {node_id} does not run")
        return door
