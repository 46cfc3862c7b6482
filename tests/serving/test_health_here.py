"""`ottla health --here`: a broker of this container answers wherever it listens."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ottla.__main__ import main
from ottla.broker.health_socket import HealthSocket, address_of
from ottla.serving.health import health_of


@pytest.fixture
def here(tmp_path: Path) -> str:
    """A name of this test's own, because all tests of a machine are in one container."""
    return f"ottla-{tmp_path.name}-{os.getpid()}"


async def health_while(name: str, report: dict[str, Any], *, as_json: bool = False) -> int:
    """The exit status of the command while a broker answers so."""
    health = HealthSocket(name, lambda: report)
    await health.open()
    try:
        return await asyncio.to_thread(health_of, name, as_json=as_json)
    finally:
        health.close()


OK: dict[str, Any] = {
    "status": "ok",
    "reasons": [],
    "nodes": [{"node_id": 1, "host": "0.0.0.0", "port": 29092}],
}
FAILING = {"status": "failing", "reasons": ["node 1 is stopped or stops"], "nodes": []}


def test_a_broker_that_is_ready_is_healthy(here: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert asyncio.run(health_while(here, OK)) == 0
    assert capsys.readouterr().out == "0.0.0.0:29092 is healthy\n"
    assert asyncio.run(health_while(here, OK, as_json=True)) == 0
    assert json.loads(capsys.readouterr().out) == {"healthy": True, "nodes": OK["nodes"]}


def test_a_controller_without_listeners_for_clients_is_healthy(
    here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asyncio.run(health_while(here, OK | {"nodes": []})) == 0
    assert capsys.readouterr().out == "the controller is healthy\n"


def test_a_broker_that_is_not_ready_says_why(here: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert asyncio.run(health_while(here, FAILING, as_json=True)) == 1
    printed = capsys.readouterr()
    assert printed.err == "ottla: node 1 is stopped or stops\n"
    assert json.loads(printed.out)["healthy"] is False


def test_a_container_without_a_broker_is_not_healthy(
    here: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert health_of(here, as_json=False) == 1
    assert capsys.readouterr().err == "ottla: no broker of this container answers\n"


def test_an_address_beside_it_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", "--here", "localhost:9092"]) == 2
    assert "--here takes no HOST:PORT" in capsys.readouterr().err


def test_a_second_broker_of_a_container_starts_without_the_socket(here: str) -> None:
    with socket.socket(socket.AF_UNIX) as first:
        first.bind(address_of(here))
        asyncio.run(_opened_and_closed(here))


async def _opened_and_closed(name: str) -> None:
    health = HealthSocket(name, dict)
    await health.open()
    health.close()


def test_the_start_of_a_container_answers_although_clients_must_log_in(
    tmp_path: Path, here: str
) -> None:
    """Neither a port that the image knows nor a login is needed."""
    settings = {
        "listeners": "SECURE://127.0.0.1:0",
        "listener.security.protocol.map": "SECURE:SASL_PLAINTEXT",
        "inter.broker.listener.name": "SECURE",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required user_a='b';"
        ),
    }
    words = [word for pair in settings.items() for word in ("--set", "=".join(pair))]
    command = [sys.executable, "-P", "-m", "ottla", "serve", "--answer-health", here, *words]
    with subprocess.Popen(
        [*command, "--data-dir", str(tmp_path / "data"), "--ready-json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as broker:  # fmt: skip
        try:
            assert broker.stdout is not None
            ready = json.loads(broker.stdout.readline())
            with socket.socket(socket.AF_UNIX) as asking:
                asking.connect(address_of(here))
                found = json.loads(asking.makefile().read())
        finally:
            broker.terminate()
    assert found == {"status": "ok", "reasons": [], "nodes": ready["nodes"]}
