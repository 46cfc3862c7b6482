"""`/livez` and `/readyz` on the metrics port, also by their names `/health` and `/ready`."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from ottla.broker.metrics import Metrics
from ottla.broker.metrics_page import Page
from ottla.broker.probes import probes_of
from tests.broker.several_nodes import several_nodes

pytestmark = pytest.mark.real_time(debug=True)


@pytest.fixture
def reasons() -> list[str]:
    return []


@pytest.fixture
def page(reasons: list[str]) -> Iterator[int]:
    page = Page(CollectorRegistry(), time.monotonic, {"/ready": lambda: reasons})
    yield page.open("127.0.0.1", 0)
    page.close()


def asked(port: int, path: str) -> tuple[int, dict[str, object]]:
    """Status and body of a probe."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as failed:
        with failed:
            return failed.code, json.load(failed)


def test_a_probe_answers_with_its_reasons(page: int, reasons: list[str]) -> None:
    assert asked(page, "/ready") == (200, {"status": "ok", "reasons": []})
    reasons.append("node 1 does not listen yet")
    assert asked(page, "/ready") == (503, {"status": "failing", "reasons": reasons})


async def test_nodes_are_ready_while_all_of_them_run(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, 2) as it:
        metrics = Metrics(it.nodes.values(), it.doors)
        port = metrics.open("127.0.0.1", 0)

        async def probe(path: str) -> tuple[int, object]:
            status, body = await asyncio.to_thread(asked, port, path)
            return status, body["reasons"]

        assert await probe("/ready") == (200, [])
        await it.stop(2)
        assert await probe("/ready") == (503, ["node 2 is stopped or stops"])
        assert await probe("/health") == (200, [])
        await it.start(2)
        assert await probe("/ready") == (200, [])
        it.doors[1].refuse()
        assert await probe("/ready") == (503, ["node 1 does not listen yet"])
        await asyncio.to_thread(metrics.close)


async def test_nodes_are_not_ready_before_they_are_registered(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, 2) as it:
        loop = asyncio.get_running_loop()
        probes = probes_of(loop, tuple(it.nodes.values()), it.doors)
        it.nodes[1].runs = False
        assert await asyncio.to_thread(probes["/ready"]) == ["node 1 is not registered yet"]
        it.nodes[1].runs = True


async def test_a_loading_coordinator_is_not_ready(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, 1) as it:
        it.controller.create_internal_topic("__consumer_offsets")
        probes = probes_of(asyncio.get_running_loop(), tuple(it.nodes.values()), it.doors)
        shard = it.nodes[1].groups.shards()[0]
        shard.begin_loading()
        assert await asyncio.to_thread(probes["/ready"]) == ["node 1 loads 1 coordinators"]
        shard.load()
        assert await asyncio.to_thread(probes["/ready"]) == []


def test_an_event_loop_that_stands_still_is_not_healthy() -> None:
    released = threading.Event()

    async def scene() -> list[str]:
        probes = probes_of(asyncio.get_running_loop(), (), {}, patience_s=0.05)
        found: list[list[str]] = []

        def ask() -> None:
            found.append(probes["/health"]())
            released.set()

        asking = threading.Thread(target=ask)
        asking.start()
        released.wait(10)  # the event loop does nothing else
        asking.join()
        return found[0]

    (reason,) = asyncio.run(scene())
    assert reason == "the event loop does not answer within 5 s"


def test_a_closed_event_loop_is_not_healthy() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    assert probes_of(loop, (), {})["/health"]() == ["the event loop does not answer within 5 s"]
