"""Rules on steps of the broker: crashes at named points, and disks that fail or are slow.

The end of a step is an event of the broker. The moment before an append, a roll, a snapshot or a
swap is a hook of `files.py`, which sees the bytes that are about to be written.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ...broker.events import (
    DecisionAppended,
    MarkerAppended,
    OffsetsMaterialized,
    RecordsAppended,
    RequestAnswered,
    RequestReceived,
)
from ...broker.log_output import Log, drain_output
from ...coordinator.transactions.records import decode
from ...coordinator.transactions.states import PREPARED, State, Transaction
from ...metadata.catalog import (
    CLUSTER_METADATA,
    CONSUMER_OFFSETS,
    INTERNAL_TOPICS,
    TRANSACTION_STATE,
)
from ...protocol.api_keys import ApiKey
from ...protocol.batch import headers_in
from ...protocol.errors import Malformed
from ...protocol.records import records_in
from ...storage.disk.file_events import (
    ProducerSnapshotWritten,
    SegmentRolled,
    SegmentsSwapped,
    SnapshotWritten,
)
from ..rules.rule import AnyAction, Crash, Disk, Match
from .hooked_files import LabFiles, path_of

if TYPE_CHECKING:
    from ...broker.node_orders import NodeOrders
    from ...protocol.batch import BatchHeader, Bytes
    from ..rules.rule_table import ActiveRule
    from .lab_state import LabState

_COMPLETE: Final = frozenset({State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
_NO_TOPICS: Final = frozenset({*INTERNAL_TOPICS, CLUSTER_METADATA})
_SNAPSHOTS: Final = (".snapshot", ".checkpoint")
_MOST_NOTED: Final = 1000
_ERRORS: Final = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO}
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_log = Log("control")


class BrokerStep(NamedTuple):
    """A step of the broker, as `faults.Sight`."""

    point: str
    node_id: int | None = None
    partitions: Collection[tuple[str, int]] = ()
    transactional_ids: Collection[str] = ()
    producer_ids: Collection[int] = ()
    groups: Collection[str] = ()
    api: str = ""
    version: int = -1
    client_id: str | None = None
    principal: str | None = None
    connection: str | None = None
    listener: str | None = None
    members: Collection[str] = ()

    @property
    def topics(self) -> Collection[str]:
        return {topic for topic, _ in self.partitions}


class Steps:
    """Watches the steps of a cluster while there are rules for them.

    Args:
        orders: lets one of several nodes die.
    """

    def __init__(self, lab: LabState, cluster: Any, orders: NodeOrders) -> None:
        self._lab = lab
        self._cluster = cluster
        self._orders = orders
        self._is_watching = False
        # What each EndTxn has decided that is not answered yet, and the one of this turn.
        self._endings: OrderedDict[_Request, BrokerStep] = OrderedDict()
        self._ending: _Request | None = None
        # The producers of appends whose events come next, which do not name them.
        self._producers: OrderedDict[tuple[str, int], Collection[int]] = OrderedDict()
        self._appending: BrokerStep | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def watch(self, is_needed: bool) -> None:
        """Begin or end to watch."""
        if is_needed is self._is_watching:
            return
        self._is_watching = is_needed
        self._loop = asyncio.get_running_loop()
        self._endings.clear()
        self._producers.clear()
        files = self._cluster.log_directory.files
        hooks = isinstance(files, LabFiles)
        if is_needed:
            self._cluster.events.add(self._observe)
            if hooks:
                files.before_append, files.before_sync = self._before_append, self._before_sync
                files.before_rename, files.before_open = self._before_rename, self._before_open
                files.after_append = self._after_append
        else:
            self._cluster.events.remove(self._observe)
            if hooks:
                files.before_append = files.before_sync = None
                files.before_rename = files.before_open = files.after_append = None

    def _observe(self, event: object) -> None:
        for step in self._end_steps(event):
            self._reached(step)

    def _end_steps(self, event: object) -> Iterator[BrokerStep]:
        """The steps that an event ends."""
        if isinstance(event, DecisionAppended):
            yield from self._decided(event)
        elif isinstance(event, RequestReceived):
            self._ending = _Request.of(event) if event.api_key is ApiKey.END_TXN else None
        elif isinstance(event, RequestAnswered) and event.api_key is ApiKey.END_TXN:
            about = self._endings.pop(_Request.of(event), BrokerStep("", event.node_id))
            yield about._replace(point="before_prepare_answer")
            yield about._replace(point="prepare_answer")
        elif isinstance(event, MarkerAppended):
            at = (event.topic, event.partition)
            yield BrokerStep("marker", self._leader(*at), (at,), (), (event.producer.producer_id,))
        elif isinstance(event, OffsetsMaterialized):
            at = (CONSUMER_OFFSETS, event.partition)
            node_id = self._leader(*at)
            yield BrokerStep(
                "offsets_materialized", node_id, (at,), (), (event.producer.producer_id,)
            )
        elif isinstance(event, RecordsAppended) and event.topic not in _NO_TOPICS:
            at = (event.topic, event.partition)
            producers = self._producers.pop(at, ())
            yield BrokerStep("produce_append", self._leader(*at), (at,), (), producers)
        elif isinstance(event, SegmentRolled | SegmentsSwapped):
            point = "segment_roll" if isinstance(event, SegmentRolled) else "swap"
            yield self._of_path(point, event.path)
        elif isinstance(event, SnapshotWritten | ProducerSnapshotWritten):
            yield self._of_path("snapshot", event.path)

    def _decided(self, event: DecisionAppended) -> Iterator[BrokerStep]:
        place = (event.topic, event.partition)
        at = (place,)
        changed = [each for each in event.outcome.records if isinstance(each, Transaction)]
        for point, states in (("prepare_append", PREPARED), ("complete_append", _COMPLETE)):
            those = [each for each in changed if each.state in states]
            if those:
                step = _of_transactions(point, event.node_id, at, those)
                if point == "prepare_append" and self._ending and not event.by_timer:
                    _noted(self._endings, self._ending, step)
                yield step
        if event.topic == CONSUMER_OFFSETS and event.outcome.records:
            groups = {getattr(each, "group_id", "") for each in event.outcome.records}
            producers = self._producers.pop(place, ())
            yield BrokerStep("group_append", event.node_id, at, (), producers, groups)

    def _before_append(self, descriptor: int, data: Bytes) -> None:
        found = _topic_of(path_of(descriptor))
        if found is None:
            return
        self._fail(found)
        node_id = self._leader(*found)
        self._appending = None
        for step in _about_to_append(found, node_id, data):
            self._appending = step
            _noted(self._producers, found, step.producer_ids)
            self._reached(step)
        self._check_alive(node_id)

    def _after_append(self) -> None:
        """Reach the step between a marker in the log and what it does to offsets."""
        step = self._appending
        if step is not None and step.point == "before_marker" and CONSUMER_OFFSETS in step.topics:
            self._reached(step._replace(point="before_offsets_materialized"))

    def _before_sync(self, descriptor: int) -> None:
        """Wait as long as a rule says and is there, mostly in a thread."""
        found = _topic_of(path_of(descriptor))
        if found is None:
            return
        step, now_ms = BrokerStep("sync", None, (found,)), self._cluster.clock.monotonic_ms()
        for rule in self._lab.faults.acting_on(step, now_ms, _is_slow):
            action = rule.action_of(Disk)
            over = threading.Event()
            rule.wait(over, over.set)
            self._in_loop(self._lab.traced, rule)
            over.wait(action.ms / 1000)
            rule.forget(over)

    def _in_loop(self, act: Callable[[ActiveRule], None], rule: ActiveRule) -> None:
        """Do something in the event loop, which may be this thread's."""
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(act, rule)

    def _before_rename(self, source: str, target: str) -> None:
        if target.endswith(_SNAPSHOTS):
            self._begins(self._of_path("before_snapshot", target))
        elif source.endswith(".swap"):
            self._reached(self._of_path("before_swap", target))

    def _before_open(self, path: str) -> None:
        if path.endswith(".log") and not os.path.exists(path):
            self._begins(self._of_path("before_segment_roll", path))

    def _begins(self, step: BrokerStep) -> None:
        self._reached(step)
        self._check_alive(step.node_id)

    def _check_alive(self, node_id: int | None) -> None:
        """Let a node that has just died write nothing more to the partitions that it led.

        Raises:
            OSError: which the log takes for an operation that has failed.
        """
        if self._is_dead(node_id):
            raise OSError(errno.ESHUTDOWN, f"node {node_id} is killed")

    def _is_dead(self, node_id: int | None) -> bool:
        node = self._cluster.nodes.get(node_id)
        return node is not None and not node.runs

    def _fail(self, found: tuple[str, int]) -> None:
        for rule in self._acting(BrokerStep("append", None, (found,)), "ENOSPC", "EIO"):
            action = rule.action_of(Disk)
            number = _ERRORS[action.error]
            raise OSError(number, os.strerror(number))

    def _acting(self, step: BrokerStep, *errors: str) -> list[ActiveRule]:
        """The rules for disks that act on a step."""
        rules = self._lab.faults.acting_on(
            step,
            self._cluster.clock.monotonic_ms(),
            lambda action, match: isinstance(action, Disk) and action.error in errors,
        )
        self._traced(rules)
        return rules

    def _reached(self, step: BrokerStep) -> None:
        if self._is_dead(step.node_id):
            return
        rules = self._lab.faults.acting_on(
            step,
            self._cluster.clock.monotonic_ms(),
            lambda action, match: isinstance(action, Crash) and action.point == step.point,
        )
        for rule in rules:
            assert isinstance(rule.spec.action, Crash)
            node_id = step.node_id if rule.spec.action.scope == "node" else None
            self._lab.traced(rule, **({} if step.node_id is None else {"node_id": step.node_id}))
            if len(self._cluster.nodes) == 1 or node_id not in self._cluster.nodes:
                node_id = None
            self._crash(node_id, step)

    def _traced(self, rules: list[ActiveRule]) -> None:
        for rule in rules:
            self._lab.traced(rule)

    def _crash(self, node_id: int | None, step: BrokerStep) -> None:
        """Kill a node, or the process."""
        kill = _kill if node_id is None else partial(self._kill_node, node_id)
        if step.point != "prepare_answer":
            kill()
            return
        # The event comes before the answer is written; two turns later it is in the socket.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, kill)

    def _kill_node(self, node_id: int) -> None:
        if not self._is_dead(node_id):
            _log.warning("a rule kills a node", node=node_id)
            self._orders.crash(node_id)

    def _leader(self, topic: str, partition: int) -> int | None:
        known = self._cluster.catalog.topics.get(topic)
        if known is None or partition >= len(known.partitions):
            return None
        leader_id: int = known.partitions[partition].leader_id
        return leader_id

    def _of_path(self, point: str, path: str) -> BrokerStep:
        found = _topic_of(path)
        return (
            BrokerStep(point)
            if found is None
            else BrokerStep(point, self._leader(*found), (found,))
        )


class _Request(NamedTuple):
    """What tells a request from all others."""

    node_id: int
    connection_id: str
    correlation_id: int

    @classmethod
    def of(cls, event: RequestReceived | RequestAnswered) -> _Request:
        return cls(event.node_id, event.connection_id, event.correlation_id)


def _noted(notes: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Note something for an event that comes later, or never."""
    notes[key] = value
    if len(notes) > _MOST_NOTED:
        notes.popitem(last=False)


def _is_slow(action: AnyAction, match: Match) -> bool:
    return isinstance(action, Disk) and action.error == "slow_fsync"


def _kill() -> None:
    _log.warning("a rule kills the broker")
    drain_output()
    os.kill(os.getpid(), signal.SIGKILL)


def _of_transactions(
    point: str, node_id: int | None, at: Collection[tuple[str, int]], those: list[Transaction]
) -> BrokerStep:
    partitions = {*at, *(partition for each in those for partition in each.partitions)}
    ids = {each.transactional_id for each in those}
    return BrokerStep(point, node_id, partitions, ids, {each.producer_id for each in those})


def _about_to_append(
    found: tuple[str, int], node_id: int | None, data: Bytes
) -> Iterator[BrokerStep]:
    """The steps that an append begins."""
    topic, _ = found
    at = (found,)
    try:
        headers = list(headers_in(data))
    except Malformed:
        return
    if topic == TRANSACTION_STATE:
        changed = _transactions_in(data, headers)
        for point, states in (
            ("before_prepare_append", PREPARED), ("before_complete_append", _COMPLETE),
        ):  # fmt: skip
            those = [each for each in changed if each.state in states]
            if those:
                yield _of_transactions(point, node_id, at, those)
    producers = {header.producer_id for _, header in headers}
    if any(header.is_control and header.is_transactional for _, header in headers):
        yield BrokerStep("before_marker", node_id, at, (), producers)
    elif topic == CONSUMER_OFFSETS:
        groups = _groups_in(data, headers)
        yield BrokerStep("before_group_append", node_id, at, (), producers, groups)
    elif topic not in _NO_TOPICS:
        yield BrokerStep("before_produce_append", node_id, at, (), producers)


def _transactions_in(data: Bytes, headers: list[tuple[int, BatchHeader]]) -> list[Transaction]:
    found = []
    for position, header in headers:
        for record in records_in(data, position, header):
            decoded = None if record.key is None else decode(record.key, record.value)
            if isinstance(decoded, Transaction):
                found.append(decoded)
    return found


def _groups_in(data: Bytes, headers: list[tuple[int, BatchHeader]]) -> set[str]:
    """The groups of the records of an append: each key begins with its version and the group."""
    keys = (
        record.key
        for position, header in headers
        for record in records_in(data, position, header)
        if record.key is not None
    )
    return {key[4 : 4 + int.from_bytes(key[2:4], "big")].decode() for key in keys}


def _topic_of(path: str) -> tuple[str, int] | None:
    """The partition of a log's file."""
    name = PurePath(path)
    if name.suffix not in (".log", ".snapshot", ".checkpoint", ".swap"):
        return None
    topic, _, index = name.parent.name.rpartition("-")
    return (topic, int(index)) if topic and index.isdecimal() else None
