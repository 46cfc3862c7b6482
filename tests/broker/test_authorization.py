"""Whoever has some rights is answered as Apache Kafka 4.1.1 answers them, API by API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.broker import authorization
from ottla.broker.config import BrokerConfig
from ottla.broker.context import ConnectionInfo, Disconnect
from ottla.broker.dispatch import Dispatch
from ottla.broker.guards import is_known
from ottla.broker.handlers import HANDLERS
from ottla.broker.listeners import Listener
from ottla.broker.node import Node
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from ottla.protocol.errors import Code, Malformed

from ..wire.client import decode, encode
from .authorization_requests import SETTINGS, play, recorded
from .authorization_steps import all_steps
from .test_topic_handlers import StoppedClock
from .topic_requests import Step

SERVED = {api_name(key) for key in HANDLERS}
STEPS = all_steps()
RECORDED = recorded()


class Asked:
    """A node asked from several addresses."""

    def __init__(self, runner: asyncio.Runner, node: Node) -> None:
        self.node = node
        self._runner = runner
        self._dispatch = Dispatch(node)

    def __call__(self, address: str, step: Step) -> Mapping[str, Any] | None:
        if step.api not in SERVED:
            return {}
        return self._runner.run(self._ask(address, step))

    async def _ask(self, address: str, step: Step) -> Mapping[str, Any] | None:
        frame = encode(step.api, step.version, step.body, correlation_id=7)
        info = ConnectionInfo(f"here-{address}:1-1", f"{address}:1", address, ("localhost", 9092))
        try:
            _, reply = self._dispatch.serve(memoryview(bytearray(frame[4:])), info)
            if isinstance(reply, asyncio.Future):
                reply = await reply
        except (Malformed, Disconnect):
            return None
        assert reply is not None
        whole = bytes(reply) if isinstance(reply, bytearray) else b"".join(reply)
        return decode(step.api, step.version, whole[4:])


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, list[str]]]]:
    """What each request was answered, with the rows of rights that it was answered so."""
    config = BrokerConfig.from_settings({"node.id": "1", **SETTINGS})
    directory: Path = tmp_path_factory.mktemp("authorized")

    async def start() -> Node:
        node = Node(config, directory, StoppedClock())
        node.start([Listener("PLAINTEXT", "localhost", 9092)])
        return node

    async def stop(node: Node) -> None:
        node.close()

    with asyncio.Runner() as runner:
        node = runner.run(start())
        yield play(Asked(runner, node), STEPS, lambda _: None)
        runner.run(stop(node))


@pytest.mark.parametrize("index", range(len(STEPS)), ids=lambda i: f"{i}-{STEPS[i].api}")
def test_every_row_of_rights_is_answered_as_apache_kafka_answers_it(
    index: int, answers: list[dict[str, list[str]]]
) -> None:
    assert STEPS[index].api in SERVED
    assert answers[index] == RECORDED[index]


def test_something_is_said_of_who_may_use_every_api() -> None:
    assert [api_name(key) for key in HANDLERS if not is_known(ApiKey(key))] == []


def test_who_is_denied_is_told_of_to_those_who_look_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines: list[dict[str, Any]] = []
    log = SimpleNamespace(debug=lambda event, **fields: lines.append({"event": event, **fields}))
    monkeypatch.setattr(authorization, "_log", log)
    given = {"authorizer.class.name": authorization.STANDARD, "node.id": "1"}
    config = BrokerConfig.from_settings(given)
    with asyncio.Runner() as runner:
        node = runner.run(started(config, tmp_path))
        asked = Step("ListPartitionReassignments", 0, {"timeout_ms": 1, "topics": None})
        answer = Asked(runner, node)("10.0.0.1", asked)
        node.close()
    assert answer is not None
    assert answer["error_code"] == Code.CLUSTER_AUTHORIZATION_FAILED
    told = {"principal": "User:ANONYMOUS", "host": "10.0.0.1", "operation": "DESCRIBE"}
    assert told.items() <= lines[0].items()
    assert (lines[0]["resource"], lines[0]["api"]) == ("CLUSTER", "LIST_PARTITION_REASSIGNMENTS")


async def started(config: BrokerConfig, directory: Path) -> Node:
    return Node(config, directory, StoppedClock())
