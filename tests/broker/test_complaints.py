"""Log lines that clients cause are counted, and limited by address and kind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.complaints import COUNTS, LINES, LINES_IN_ALL, SUBJECTS, WINDOW_S, Complaints
from ottla.protocol.api_keys import ApiKey
from tests.broker.fakes import deliver
from tests.broker.net.peers import Peer, heartbeat
from tests.broker.one_node import one_node
from tests.clocks import LoopClock
from tests.log_lines import LogLines

TLS_HELLO = bytes.fromhex("16030100f5010000f10303")


@pytest.fixture
def log(log_lines: LogLines) -> LogLines:
    return log_lines.of("connection")


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
    told: dict[str, Any] = {"about": "connections closed: looks like TLS", "host": "10.0.0.7"}
    assert it.log.lines[LINES:] == [
        ("warning", "similar lines were omitted", {**told, "count": 1000 - LINES})
    ]


FOREIGN = [
    (TLS_HELLO, "looks like TLS, and this listener is PLAINTEXT: a request of 369295616 bytes"),
    (b"GET / HTTP/1.1\r\n", "looks like HTTP, and this listener is PLAINTEXT: "),
    (b"PRI * HTTP/2.0\r\n", "looks like HTTP, and this listener is PLAINTEXT: "),
    (b"SSH-2.0-OpenSSH", "looks like SSH, and this listener is PLAINTEXT: "),
    (b"PROXY TCP4 10.0.0.7", "looks like the PROXY protocol of a load balancer, and "),
    (bytes.fromhex("0d0a0d0a000d0a515549540a"), "looks like the PROXY protocol of a load "),
    (b"\xff\xff\xff\xff", "a request of -1 bytes"),
]


@pytest.mark.parametrize(("sent", "reason"), FOREIGN)
async def test_a_client_of_another_protocol_is_explained(
    sent: bytes, reason: str, monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:
    it = Peer(monkeypatch, log_lines)
    deliver(it.connection, sent)
    ((level, event, fields),) = it.log.of("connection").lines
    assert (level, event) == ("warning", "connection closed")
    assert fields["reason"].startswith(reason)


async def test_another_complaint_about_the_same_client_is_not_swallowed(
    monkeypatch: pytest.MonkeyPatch, log_lines: LogLines
) -> None:
    it = Peer(monkeypatch, log_lines)
    sent = [TLS_HELLO, b"GET / HTTP/1.1\r\n", b"\xff\xff\xff\xff"]
    for _ in range(100):
        for each in sent:
            deliver(it.another()[0], each)
    connection = it.another()[0]
    unknown = b"\0\0\0\x0c" + b"\x7f\xff\0\0" + bytes(4) + b"\0\2me"
    deliver(connection, unknown)
    reasons = [fields["reason"] for _, _, fields in it.log.lines]
    assert len(reasons) == LINES * len(sent) + 1
    assert reasons[-1] == "API key 32767 is not served"
    await asyncio.sleep(WINDOW_S + 1)
    counts = {fields["about"]: fields["count"] for _, _, fields in it.log.lines[len(reasons) :]}
    assert counts == {
        "connections closed: looks like TLS": 100 - LINES,
        "connections closed: looks like HTTP": 100 - LINES,
        "connections closed: BadLength": 100 - LINES,
    }


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        (ApiKey.SASL_HANDSHAKE, {"mechanism": "PLAIN" * 100}),
        (ApiKey.SASL_AUTHENTICATE, {"auth_bytes": b"\0alice\0s3cret"}),
    ],
)
async def test_a_client_that_asks_for_sasl_is_explained(
    key: ApiKey, fields: dict[str, Any], tmp_path: Path, log_lines: LogLines
) -> None:
    async with one_node(tmp_path) as it:
        it.connection.complaints = Complaints(it.clock)
        for _ in range(100):
            await it.ask(key, 1, **fields)
        it.connection.complaints.log_rest()
    lines = log_lines.of("connection").lines
    assert [event for _, event, _ in lines] == [
        *["the client asks for SASL, and this listener is PLAINTEXT"] * LINES,
        "similar lines were omitted",
    ]
    assert lines[0][2]["connection"] == it.connection.id
    assert "s3cret" not in str(lines)
    assert len(str(lines[0])) < 500


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


async def test_addresses_and_kinds_have_lines_of_their_own(log: LogLines) -> None:
    it = Complaints(LoopClock())
    for host in ("a", "b"):
        for kind in ("x", "y"):
            assert [it.may_log(host, kind) for _ in range(LINES + 1)] == [True] * LINES + [False]
    it.log_rest()
    assert len(log.lines) == 4


async def test_a_new_window_has_lines_again_and_a_quiet_one_says_nothing(log: LogLines) -> None:
    it = Complaints(LoopClock())
    for _ in range(3):
        assert it.may_log("a", "x")
        await asyncio.sleep(WINDOW_S + 1)
    assert log.lines == []


async def test_remembered_complaints_are_bounded(log: LogLines) -> None:
    it = Complaints(LoopClock())
    told = sum(it.may_log(f"10.0.{number}", "x") for number in range(10 * SUBJECTS))
    assert told == LINES_IN_ALL
    assert len(it._counts) == SUBJECTS + 1
    it.log_rest()
    ((_, _, fields),) = log.lines
    assert fields == {"host": "others", "about": "x", "count": 10 * SUBJECTS - LINES_IN_ALL}
    assert it._counts == {}


async def test_all_subjects_together_have_a_limited_number_of_lines(log: LogLines) -> None:
    it = Complaints(LoopClock(), lines=20)
    subjects, each = 200, 30
    told = sum(it.may_log(f"g{number}", "x") for number in range(subjects) for _ in range(each))
    assert told == LINES_IN_ALL
    it.log_rest()
    assert len(log.lines) == COUNTS + 1
    assert sum(fields["count"] for *_, fields in log.lines) == subjects * each - LINES_IN_ALL
    assert it.may_log("g199", "x")  # in the next window
