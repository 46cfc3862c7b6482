"""The broker of a run: a listener for each copy, the input, the lab's rules, the broker's time."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final, Self
from urllib.parse import quote

from ...client.admin.configs import ConfigOperation, Resource, alter_settings
from ...client.admin.groups import coordinator_of, offsets_now
from ...client.cluster_client import Client, ErrorAnswer, NoAnswer
from ...protocol.api_keys import ApiKey
from ...testing.broker import BrokerFailed, Ottla, brokers
from ...testing.lab import Fault, LabRefused
from ...testing.ports import HeldPorts
from ..trial import Trial
from .contract import SHARE, Contract
from .deliveries import is_done
from .inputs import InputBatch
from .schedule import BEFORE, FIRST_VERSIONS, Schedule, ScheduleStep
from .watch import LISTENER, Member

RUNNER: Final = "ottla-torture"
_LAST_VERSION: Final = 1000
_SETTINGS: Final = {
    # Copies that start together join together.
    "group.initial.rebalance.delay.ms": "200",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "transaction.state.log.num.partitions": "5",
    "offsets.topic.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "group.share.heartbeat.interval.ms": "300",
    "group.share.min.heartbeat.interval.ms": "100",
    "auto.create.topics.enable": "false",
}
_OF_SHARE_GROUP: Final = {
    "share.auto.offset.reset": "earliest",
    "share.isolation.level": "read_committed",
    "share.assignment.interval.ms": "0",
}
_FOLLOW_S: Final = 0.05


class TortureBroker(Trial):
    """A broker for one run; a `with` ends it."""

    def __init__(self, contract: Contract, schedule: Schedule, directory: Path) -> None:
        self._contract = contract
        self._schedule = schedule
        nodes, copies = schedule.nodes, schedule.most_copies
        self._step = copies + 1
        ports = HeldPorts()
        self._first = ports.hold_consecutive(nodes * self._step)
        ports.release()
        names = ["PLAINTEXT", *(f"{LISTENER}{number}" for number in range(1, copies + 1))]
        listeners = [
            f"{name}://127.0.0.1:{self._first + number}" for number, name in enumerate(names)
        ]
        settings = {
            **_SETTINGS,
            "listeners": ",".join(listeners),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
            "inter.broker.listener.name": "PLAINTEXT",
            **contract.settings,
        }
        if schedule.copies == 1:
            settings["group.initial.rebalance.delay.ms"] = "0"
        broker = Ottla(settings=settings, nodes=nodes, clock="manual", log_level="error")
        super().__init__(broker, directory, contract.timeout_s)
        self._client: Client | None = None
        self._followed_s = 0.0
        self._ends: dict[tuple[str, int], int] = {}
        self._committed: dict[tuple[str, int], list[int]] = defaultdict(list)

    _last: ClassVar[Ottla | None] = None

    def __enter__(self) -> Self:
        # A test that fails shows the log of its last run, and not those of dozens before it.
        if TortureBroker._last is not None:
            brokers.discard(TortureBroker._last)
        TortureBroker._last = self.broker
        super().__enter__()
        data = self._schedule.data
        self.create_topics(
            [
                (self._contract.input, data.partitions),
                (self._contract.output, data.output_partitions),
            ]
        )
        if self._contract.consumer == SHARE:
            changes = [
                (name, ConfigOperation.SET, value) for name, value in _OF_SHARE_GROUP.items()
            ]
            with Client.to(self.broker.bootstrap_servers, client_id=RUNNER) as client:
                alter_settings(client, Resource.GROUP, self._contract.group, changes)
        self._followed_s = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()
        self.broker.close()  # without the wait of a clean stop

    def bootstrap(self, copy: int) -> str:
        """HOST:PORT of each node, at the listener of a copy."""
        ports = (self._first + node * self._step + copy for node in range(self._schedule.nodes))
        return ",".join(f"127.0.0.1:{port}" for port in ports)

    def add_rules(self) -> dict[int, ScheduleStep]:
        """Add the rule of each step; the steps by the numbers of their rules."""
        found = {}
        for step in self._schedule.steps:
            kind, match, parameters = rule_of(step)
            added = self.broker.faults.add(kind, match=match, goes_on=True, **parameters)
            found[added.number] = step
        return found

    def release(self, rule: int) -> None:
        """Let go what a rule holds."""
        with suppress(LabRefused, OSError):
            Fault(self.broker.lab(), rule).release()

    def send(self, batches: Iterable[InputBatch]) -> dict[tuple[str, int], int]:
        """Write batches of the input; what is behind the last committed record, by partition."""
        ends: dict[tuple[str, int], int] = {}
        for number, batch in enumerate(batches):
            transactional = batch.is_aborted or self._schedule.data.transactional
            writer = f"{RUNNER}-input-{number}" if transactional else None
            stored = self.broker.produce(
                self._contract.input, batch.rows, transactional_id=writer,
                commit=not batch.is_aborted,
            )  # fmt: skip
            if not batch.is_aborted:
                ends |= {(each.topic, each.partition): each.offset + 1 for each in stored}
                for each in stored:
                    self._committed[each.topic, each.partition].append(each.offset)
        self._ends |= ends
        return ends

    def offsets(self) -> dict[tuple[str, int], int]:
        """How far the group is in each partition: its committed offsets.

        Of a share group it is the first committed record of the input that is not accepted or
        archived.
        """
        group = self._contract.group
        if self._contract.consumer == SHARE:
            return self._done_by_share_group(group)
        found = self._ask(lambda client: offsets_now(client, group))
        return {place: each[0] for place, each in (found or {}).items()}

    def _done_by_share_group(self, group: str) -> dict[tuple[str, int], int]:
        try:
            shown = self.broker.lab().call("GET", f"/share-partitions?group={quote(group)}")
        except (LabRefused, OSError):
            return {}
        found = {}
        for each in shown["partitions"]:
            place = each["topic"], each["partition"]
            left = [
                offset for offset in self._committed.get(place, ()) if not is_done(each, offset)
            ]
            found[place] = min(left, default=self._ends.get(place, 0))
        return found

    def _ask(self, ask: Any) -> Any:  # Any: a function of a client, and its result
        """Ask with the connection of this run; None if the coordinator does not answer now."""
        try:
            if self._client is None:
                self._client = Client.to(self.broker.bootstrap_servers, client_id=RUNNER)
            return ask(self._client)
        except (NoAnswer, ErrorAnswer):
            if self._client is not None:
                self._client.close()
            self._client = None
            return None

    def expel(self, members: Iterable[Member]) -> None:
        """Take members out of their groups, as if their sessions had timed out."""
        for member in members:
            self._ask(lambda client, member=member: _leave(client, member))

    def fence(self, transactional_id: str) -> None:
        """Take a transactional id, as a second process does."""

        def ask(client: Client) -> None:
            node_id = client.transaction_coordinator(transactional_id)
            body = {
                "transactional_id": transactional_id, "transaction_timeout_ms": 60_000,
                "producer_id": -1, "producer_epoch": -1,
            }  # fmt: skip
            client.ask(ApiKey.INIT_PRODUCER_ID, body, node_id=node_id)

        self._ask(ask)

    def follow(self) -> None:
        """Let as much of the broker's time pass as of the machine's."""
        now_s = time.monotonic()
        passed_ms = int(1000 * (now_s - self._followed_s))
        if passed_ms >= 1000 * _FOLLOW_S:
            self._followed_s += passed_ms / 1000
            self.jump(passed_ms)

    def jump(self, ms: int) -> None:
        """Let time pass at once."""
        with suppress(BrokerFailed):
            self.broker.clock.advance(ms=ms)

    def crash(self, node_id: int) -> None:
        """Kill a node."""
        self._node(node_id, "kill")

    def start_node(self, node_id: int) -> None:
        """Start a node again."""
        self._node(node_id, "start")

    def _node(self, node_id: int, what: str) -> None:
        with suppress(LabRefused, OSError):
            self.broker.lab().call("POST", f"/nodes/{node_id}/{what}")


def rule_of(step: ScheduleStep) -> tuple[str, dict[str, object], dict[str, Any]]:  # Any: of the lab
    """The lab's rule for a step: kind of action, match and parameters."""
    match: dict[str, object] = {
        "api": step.at.api, "nth": step.at.nth, "listener": f"{LISTENER}{step.at.copy}"
    }  # fmt: skip
    first = FIRST_VERSIONS.get((step.at.api, step.code))
    if first is not None:
        match["versions"] = [first, _LAST_VERSION]
    if step.do == "kill" and step.at.point == BEFORE:
        return "drop_request", match, {}  # a held request would be applied later
    if step.is_of_processes:
        return "hold", match, {"point": step.at.point}
    parameters: Mapping[str, dict[str, Any]] = {
        "error": {"code": step.code},
        "delay": {"ms": step.time_ms, "point": step.at.point},
        "throttle": {"ms": step.time_ms},
        "drop_answer": {"close": True},
        "drop_request": {"close": True},
        "apply_late": {"ms": step.time_ms},
    }
    return step.do, match, parameters.get(step.do, {})


def _leave(client: Client, member: Member) -> None:
    node_id = coordinator_of(client, member.group)
    body: dict[str, Any] = {
        "group_id": member.group, "member_id": member.member_id, "member_epoch": -1,
        "rack_id": None, "subscribed_topic_names": None,
    }  # fmt: skip
    if member.heartbeat == "ShareGroupHeartbeat":
        client.ask(ApiKey.SHARE_GROUP_HEARTBEAT, body, node_id=node_id)
        return
    if member.heartbeat == "ConsumerGroupHeartbeat":
        body |= {
            "instance_id": None, "rebalance_timeout_ms": -1, "server_assignor": None,
            "topic_partitions": None,
        }  # fmt: skip
        client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, body, node_id=node_id, version=0)
        return
    left = [{"member_id": member.member_id, "group_instance_id": None}]
    body = {"group_id": member.group, "members": left}
    client.ask(ApiKey.LEAVE_GROUP, body, node_id=node_id, version=4)
