"""Log lines that clients cause are counted, and limited by address and kind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ottla.broker.requests.complaints import ADDRESSES, LINES, WINDOW_S, Complaints
from tests.broker.fakes import deliver, in_virtual_time
from tests.broker.net.peers import Peer, heartbeat
from tests.clocks import LoopClock
from tests.log_lines import LogLines

TLS_HELLO = bytes.fromhex("16030100f5010000f10303")


@pytest.fixture
def log(log_lines: LogLines) -> LogLines:
    return log_lines.of("connection")


@in_virtual_time
async def test_a_client_that_speaks_tls_again_and_again_makes_a_few_lines_and_a_count(
    monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:
    it = Peer(monkeypatch, log_lines)
    for _ in range(1000):
        connection, transport = it.another()
        deliver(connection, TLS_HELLO)
        assert transport.closed
    assert len(it.log.lines) == LINES
    await asyncio.sleep(WINDOW_S + 1)
    told: dict[str, Any] = {"about": "connections closed: BadLength", "host": "10.0.0.7"}
    assert it.log.lines[LINES:] == [
        ("warning", "similar lines were omitted", {**told, "count": 1000 - LINES})
    ]


@in_virtual_time
async def test_a_fault_that_a_client_meets_again_and_again_makes_a_few_lines(
    monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:
    it = Peer(monkeypatch, log_lines)
    for number in range(100):
        it.send(heartbeat(number, "bug"))
    assert it.answered == list(range(100))
    assert [event for _, event, _ in it.log.lines] == [
        "the broker failed to handle a request"
    ] * LINES


@in_virtual_time
async def test_addresses_and_kinds_have_lines_of_their_own(log: LogLines) -> None:
    it = Complaints(LoopClock())
    for host in ("a", "b"):
        for kind in ("x", "y"):
            assert [it.may_log(host, kind) for _ in range(LINES + 1)] == [True] * LINES + [False]
    it.log_rest()
    assert len(log.lines) == 4


@in_virtual_time
async def test_a_new_window_has_lines_again_and_a_quiet_one_says_nothing(log: LogLines) -> None:
    it = Complaints(LoopClock())
    for _ in range(3):
        assert it.may_log("a", "x")
        await asyncio.sleep(WINDOW_S + 1)
    assert log.lines == []


@in_virtual_time
async def test_remembered_complaints_are_bounded(log: LogLines) -> None:
    it = Complaints(LoopClock())
    told = sum(it.may_log(f"10.0.{number}", "x") for number in range(10 * ADDRESSES))
    assert told == ADDRESSES + LINES
    assert len(it._counts) == ADDRESSES + 1
    it.log_rest()
    ((_, _, fields),) = log.lines
    assert fields == {"host": "other addresses", "about": "x", "count": 9 * ADDRESSES - LINES}
    assert it._counts == {}
