"""The lab of a running cluster: its rules, its trace, its nodes. Control and tests use this class.

While there is a rule for requests, or a trace, `act_on_requests` stands around all requests;
otherwise nothing of the lab is in the way of a request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from .actions.broker_steps import Steps
from .actions.dispatch import OF_REQUEST, act_on_requests
from .actions.lab_state import LabState
from .actions.rule_checks import apis_of, check_rule
from .actions.unusual import unusual_in
from .rules.orders import LabOrders
from .rules.rule import ClockAdvance, LeaderMove, OfStep, RuleSpec, TraceSettings, read, shown
from .rules.rule_table import ActiveRule, can_be_released

if TYPE_CHECKING:
    from ..broker.net.sockets import NodeSockets
    from ..broker.node import Node
    from ..broker.node_orders import NodeOrders
    from ..broker.requests.dispatch import Layer

OF_STEP: Final = get_args(OfStep)


class NotThere(LookupError):
    """There is no rule with this id."""


class NotNow(RuntimeError):
    """The lab is in no state for this; the text says why in one sentence."""


class Lab:
    """Faults, trace and nodes of a cluster.

    Args:
        served: the nodes and their sockets.
        orders: stops, kills and starts nodes, and moves leaders.

    Attributes:
        faults: the rules.
        tracer: the trace.
        state: what its parts share.
    """

    def __init__(self, served: Mapping[Node, NodeSockets], orders: NodeOrders) -> None:
        self._served = dict(served)
        self._cluster = next(iter(served)).cluster
        self._clock = self._cluster.clock
        self.orders = orders
        self._others = LabOrders(served)
        self.state = LabState(self._cluster.events, self._clock)
        self.faults, self.tracer = self.state.faults, self.state.tracer
        self._steps = Steps(self.state, self._cluster, orders)
        self._is_active = False
        self.faults.on_change = self.tracer.on_change = self._update_layers
        orders.on_killed = self.state.node_killed

    def add_fault(self, given: object) -> dict[str, Any]:
        """Add a rule; return its id, and what is unusual in it. Raises WrongRule, CannotFire."""
        spec = read(given, RuleSpec)
        check_rule(spec, self._cluster)
        unusual = list(unusual_in(spec, apis_of(spec.match), self._cluster))
        return {
            "id": self.state.add_rule(spec).number,
            **({"warnings": unusual} if unusual else {}),
        }

    def list_faults(self) -> list[dict[str, Any]]:
        """All rules with their counts, in their order."""
        return [rule.shown() for rule in self.faults]

    def show_fault(self, number: int) -> dict[str, Any]:
        """A rule with its counts. Raises NotThere."""
        return self._rule(number).shown()

    def release_fault(self, number: int) -> dict[str, Any]:
        """Let go what a rule holds; return how many requests. Raises NotThere, NotNow."""
        rule = self._rule(number)
        if not can_be_released(rule):
            raise NotNow(f"rule {number} holds nothing: its action is no hold and no apply_late")
        return {"released": rule.release()}

    def remove_fault(self, number: int) -> dict[str, Any]:
        """Remove a rule; return its last counts. Raises NotThere."""
        self._rule(number)
        return self.state.remove_rule(number).shown()

    def clear_faults(self) -> dict[str, Any]:
        """Remove all rules; return their number."""
        return {"removed": self.state.clear_rules()}

    def _rule(self, number: int) -> ActiveRule:
        try:
            return self.faults.get(number)
        except KeyError:
            raise NotThere(
                f"there is no rule {number}; rules end with the process of the broker"
            ) from None

    def set_trace(self, given: object) -> dict[str, Any]:
        """Switch the trace on or off, and say where it goes.

        Raises:
            WrongRule: a field is wrong. NotNow: the file cannot be opened.
        """
        settings = read(given, TraceSettings)
        if not settings.on:
            self.tracer.stop()
        else:
            file = None if settings.file is None else Path(settings.file)
            try:
                self.tracer.start(
                    ring=settings.ring, file=file, file_bytes=settings.file_bytes,
                    with_previews=settings.with_previews,
                )  # fmt: skip
            except (OSError, ValueError) as failed:  # a path with a null character
                raise NotNow(f"{file} cannot be opened: {failed}") from None
        return self.trace_state()

    def trace_state(self) -> dict[str, Any]:
        """Whether the trace is on, its last number, and the file that it goes to."""
        path = self.tracer.path
        file = None if path is None else str(path)
        return {"on": self.tracer.is_on, "last": self.tracer.last, "file": file}

    def now_ms(self) -> dict[str, Any]:
        """The wall time of the broker."""
        return {"now_ms": self._others.now_ms()}

    async def advance(self, given: object) -> dict[str, Any]:
        """Let time pass; return the new wall time. Raises WrongRule, WrongOrder."""
        step = read(given, ClockAdvance)
        return {"now_ms": await self._others.advance(step.ms, step.moved_by)}

    async def give(self, given: object) -> dict[str, Any]:
        """Give the broker a state; return what it has made. Raises WrongOrder."""
        return await self._others.give(given)

    @property
    def served(self) -> Mapping[Node, NodeSockets]:
        """The nodes and their sockets."""
        return self._served

    def list_emulations(self) -> dict[str, Any]:
        """The names of the bugs of Kafka that are rehearsed; none unless asked for."""
        return {"bugs": [*self._cluster.variants.names]}

    def list_share_partitions(self, group: str) -> dict[str, Any]:
        """The partitions of share groups, with the state of each record that is under way.

        Args:
            group: a pattern of group ids, with `*`.
        """
        from .share_view import share_partitions_of

        return {"partitions": share_partitions_of(self._cluster, group)}

    def list_waits(self) -> dict[str, Any]:
        """Sessions, rebalances, throttled clients, and the newest requests that were refused."""
        from .waits_view import waits_of

        return waits_of(list(self._served), self.tracer)

    def list_nodes(self) -> list[dict[str, Any]]:
        """The nodes, running or not, with the number of partitions that each leads."""
        leaders = Counter(
            partition.leader_id
            for topic in self._cluster.catalog.topics.values()
            for partition in topic.partitions
        )
        return [
            {
                "node_id": node.node_id,
                "is_running": node.runs,
                "leads": leaders[node.node_id],
                "listeners": [each._asdict() for each in door.advertised],
            }
            for node, door in self._served.items()
        ]

    def move_leader(self, given: object) -> dict[str, Any]:
        """Make a node the leader of a partition, or of all of a topic.

        Raises:
            WrongRule: a field is wrong. WrongOrder: the node cannot lead it.
        """
        move = read(given, LeaderMove)
        node_id = self.orders.node_id(str(move.node_id))
        partition = "*" if move.partition is None else str(move.partition)
        self.orders.lead(move.topic, partition, node_id)
        return shown(move)

    def _update_layers(self) -> None:
        """Put the lab around all requests, or take it away."""
        is_active = self.tracer.is_on or self.faults.has(OF_REQUEST)
        self._steps.watch(self.faults.has(OF_STEP))
        if is_active is not self._is_active:
            self._is_active = is_active
            for node, door in self._served.items():
                door.surround_requests(node, self._layers())

    def _layers(self) -> list[Layer]:
        return [partial(act_on_requests, self.state)] if self._is_active else []

    def add(self, node: Node, door: NodeSockets) -> None:
        """Act on another node, too; it takes the place of one with its id."""
        for known in [each for each in self._served if each.node_id == node.node_id]:
            del self._served[known]
        self._served[node] = door
        door.surround_requests(node, self._layers())

    async def close(self) -> None:
        """Let all go, because the broker stops."""
        await self.state.close()
