"""Transactions in lanes, and the lines of a terminal, from fixed events."""

from __future__ import annotations

import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from ottla.trace.events import (
    Answer,
    ConnectionClosed,
    ConnectionOpened,
    Decision,
    Event,
    Fault,
    GroupTransition,
    MarkerAppended,
    Request,
    fields_of,
)
from ottla.trace.lanes import lanes
from ottla.trace.view import folded, lines_of


def request(seq: int, at_ms: int, api: str, **fields: Any) -> Request:
    return Request(
        seq=seq, at_ms=at_ms, api=api, version=1, client_id="me",
        connection=CONNECTION, fields=fields,
    )  # fmt: skip


def answer(seq: int, at_ms: int, cause: int, api: str, **fields: Any) -> Answer:
    return Answer(seq=seq, at_ms=at_ms, cause=cause, api=api, took_us=2000, response=fields)


def marker(seq: int, at_ms: int, partition: int, producer_id: int, *, commit: bool) -> Event:
    return MarkerAppended(
        seq=seq, at_ms=at_ms, topic="orders", partition=partition,
        producer={"producer_id": producer_id}, commit=commit,
    )  # fmt: skip


def state(
    seq: int, at_ms: int, owner: str, after: str, producer_id: int, *, cause: int = 0
) -> Event:
    record = {
        "type": "Transaction", "transactional_id": owner, "producer_id": producer_id,
        "before": None, "after": after,
    }  # fmt: skip
    return Decision(seq=seq, at_ms=at_ms, cause=cause, count=1, records=[record])


CONNECTION = "10.0.0.1:9092-10.0.0.2:5000-1"
EVENTS: list[Event] = [
    ConnectionOpened(seq=1, listener="PLAINTEXT", connection=CONNECTION),
    request(2, 10, "InitProducerId", transactional_id="shop"),
    answer(3, 12, 2, "InitProducerId", producer_id=5, producer_epoch=0),
    request(4, 20, "Metadata", topics=None),
    request(5, 30, "EndTxn", transactional_id="shop", committed=True),
    Fault(seq=6, at_ms=30, cause=5, id=1, action={"kind": "hold"}),
    state(7, 31, "shop", "PrepareCommit", 5, cause=5),
    state(8, 32, "bank", "Ongoing", 6),
    marker(9, 33, 0, 5, commit=True),
    answer(10, 34, 5, "EndTxn"),
    marker(11, 2534, 1, 6, commit=False),
    request(12, 2535, "AddPartitionsToTxn", transactions=[{"transactional_id": "bank"}]),
    ConnectionClosed(seq=13, at_ms=3000, connection=CONNECTION),
]

LANES = """\
                      shop                                             bank
     2 00:00:00.010   InitProducerId -> ok 2.0 ms: producer 5 epoch 0  |
     5 00:00:00.030   EndTxn commit                                    |
     6 00:00:00.030   ! hold                                           |
     7 00:00:00.031   = PrepareCommit                                  |
     8 00:00:00.032   |                                                = Ongoing
     9 00:00:00.033   * commit in orders-0                             |
    10 00:00:00.034   -> ok 2.0 ms (EndTxn)                            |
       . 2.5 s        .                                                .
    11 00:00:02.534   |                                                * abort in orders-1
    12 00:00:02.535   |                                                AddPartitionsToTxn
"""
NARROW = """\
                      shop              bank
     2 00:00:00.010   InitProducerId …  |
     5 00:00:00.030   EndTxn commit     |
"""


def test_lanes_have_requests_states_markers_faults_and_gaps() -> None:
    assert [*lanes(EVENTS)] == LANES.splitlines()


def test_lanes_keep_within_the_width_of_a_terminal() -> None:
    found = [*lanes(EVENTS, 58)]
    assert found[:3] == NARROW.splitlines()
    assert max(map(len, found)) <= 58


def test_a_capture_without_decisions_has_lanes_of_requests() -> None:
    marker = {"producer_id": 5, "transaction_result": True}
    events = [*EVENTS[1:3], request(4, 20, "WriteTxnMarkers", markers=[marker])]
    assert [*lanes(events)][-1].split() == ["4", "00:00:00.020", "WriteTxnMarkers", "commit"]


def beat(seq: int, group: str, *, code: int = 0) -> list[Event]:
    asked = request(seq, seq, "Heartbeat", group_id=group, member_id="m", generation_id=1)
    return [asked, answer(seq + 1, seq + 1, seq, "Heartbeat", error_code=code)]


def test_groups_and_clients_have_lanes_too() -> None:
    commit = request(5, 40, "TxnOffsetCommit", transactional_id="shop", group_id="g", member_id="m")
    removed = {"type": "ConsumerRemoved", "kind": 5, "group_id": "g", "name": "m"}
    events: list[Event] = [
        ConnectionOpened(seq=1, connection=CONNECTION),
        *beat(2, "g"),
        GroupTransition(seq=4, at_ms=5, group_id="g", before="Stable", after="PreparingRebalance"),
        commit,
        answer(6, 41, 5, "TxnOffsetCommit"),
        request(7, 43, "OffsetFetch", groups=[{"group_id": "g", "topics": None}]),
        answer(8, 44, 7, "OffsetFetch", groups=[{"group_id": "g", "topics": []}]),
        *beat(9, "g", code=27),
        Decision(seq=11, at_ms=50, by_timer=True, records=[removed]),
        ConnectionClosed(seq=12, at_ms=60, connection=CONNECTION),
    ]
    cells = [line[22:].split("  ") for line in lanes(events, kinds=["client", "id", "group"])]
    found = [tuple(each.strip() for each in line if each.strip()) for line in cells]
    assert found == [
        ("client me", "id shop", "group g"),
        ("connects", "|", "|"),
        ("|", "|", "= PreparingRebalance"),
        ("o", "o", "TxnOffsetCommit shop g m -> ok 2.0 ms"),
        ("o", "|", "OffsetFetch all -> ok 2.0 ms: no offsets"),
        ("o", "|", "Heartbeat m generation 1 -> REBALANCE_IN_PROGRESS 2.0 ms"),
        ("|", "|", "- member m is removed by a timer"),
        ("disconnects", "|", "|"),
    ]
    alone = [line[22:].split("  ")[0] for line in lanes(events, kinds=["group"])]
    assert alone[:2] == ["g", "= PreparingRebalance"]


def test_heartbeats_and_fetches_that_say_nothing_new_are_left_out() -> None:
    modern = {"group_id": "g", "member_id": "m", "member_epoch": 2}
    events = [
        *beat(1, "g"),
        request(3, 3, "ConsumerGroupHeartbeat", **modern),
        answer(4, 4, 3, "ConsumerGroupHeartbeat", assignment=None),
        request(5, 5, "Fetch", topics=[]),
        answer(6, 6, 5, "Fetch", responses=[], batches=[]),
        request(7, 7, "ShareFetch", group_id="g"),
        answer(8, 8, 7, "ShareFetch", responses=[{"partitions": [{"acquired_records": []}]}]),
    ]
    assert [*lanes(events, kinds=["client", "group"])] == [""]
    news = [
        request(9, 9, "ConsumerGroupHeartbeat", **modern),
        answer(10, 10, 9, "ConsumerGroupHeartbeat", assignment={"topic_partitions": []}),
        request(11, 11, "ShareFetch", group_id="g"),
        answer(12, 12, 11, "ShareFetch", responses=[{"partitions": [{"acquired_records": [{}]}]}]),
    ]
    assert len([*lanes([*events, *news], kinds=["group"])]) == 3


def test_a_trace_without_transactions_has_empty_lanes() -> None:
    assert [*lanes([EVENTS[3]])] == [""]


@pytest.mark.parametrize(
    ("span_ms", "said"), [(1000, "1.0 s"), (90_000, "1.5 min"), (7_200_000, "2.0 h")]
)
def test_a_gap_is_shown_in_its_unit(span_ms: int, said: str) -> None:
    events = [state(1, 0, "shop", "Ongoing", 1), state(2, span_ms, "shop", "Empty", 1)]
    assert [*lanes(events)][2].split()[1:3] == said.split()


def test_connections_have_lines_unless_apis_are_chosen() -> None:
    shown = [text for text, _ in lines_of(EVENTS)]
    assert shown[0].split(maxsplit=2)[2] == "10.0.0.2:5000 connects to 10.0.0.1:9092 (PLAINTEXT)"
    closed = "10.0.0.2:5000 disconnects from 10.0.0.1:9092 after 3.0 s, 4 requests"
    assert shown[-1].split(maxsplit=2)[2] == closed
    assert not any("connects" in text for text, _ in lines_of(EVENTS, ("EndTxn",)))


def test_undecoded_and_unanswered_requests_say_why() -> None:
    why = "version 40 is newer than 18, 99 bytes"
    asked = request(1, 0, "Fetch")
    asked.undecoded = why
    lost = Answer(seq=2, at_ms=5, cause=1, unanswered="the capture lacks the answer")
    ((text, style),) = lines_of([asked, lost])
    assert text.endswith(f" ({why}) -> no answer: the capture lacks the answer")
    assert style == "error"
    silent = Answer(seq=2, cause=1, api="Produce", took_us=5)
    ((text, style),) = lines_of([request(1, 0, "Produce", acks=0), silent])
    assert text.endswith("-> no answer is wanted (acks=0)")


def test_a_line_folds_at_its_words_and_is_never_cut() -> None:
    text = "     1 00:00:00.000  Produce v9             me           " + "orders-0 " * 20
    for width in (20, 60, 100):
        parts = folded(text.rstrip(), width)
        assert max(map(len, parts)) <= width
        assert " ".join(" ".join(parts).split()) == " ".join(text.split())
    assert folded(text, None) == [text]


def on_terminal(columns: int, file: Path, options: Sequence[str], **more: str) -> str:
    """What `ottla trace show` prints on a terminal."""
    here, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    left_out = ("NO_COLOR", "COLUMNS", "LINES")
    environment = {name: each for name, each in os.environ.items() if name not in left_out}
    command = [sys.executable, "-m", "ottla", "trace", "show", str(file), *options]
    try:
        subprocess.run(command, stdout=terminal, env=environment | more, check=True)
        return os.read(here, 100_000).decode().replace("\r\n", "\n")
    finally:
        os.close(terminal)
        os.close(here)


def test_the_width_of_the_terminal_is_used_there_alone(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(fields_of(event)) + "\n" for event in EVENTS))
    shown = on_terminal(60, file, ["--lanes"])
    assert max(map(len, shown.splitlines())) <= 60
    assert "…" in shown
    folded_lines = on_terminal(60, file, [], NO_COLOR="1").splitlines()
    assert max(map(len, folded_lines)) <= 60
    command = [sys.executable, "-m", "ottla", "trace", "show", str(file), "--lanes"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert piped.stdout == LANES
