"""Properties of captures: cuts and order change nothing, and no bytes crash the reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.lab.captures.capture_files import NoCapture
from ottla.lab.captures.frame_cutter import Room

from . import packing, talk
from .packing import Connection, pcap
from .talk import read

LEFT_OUT = ("seq", "at_ms", "node_id")  # a lost answer may be the one that names the nodes
KINDS = (
    (talk.metadata_request, talk.metadata_answer),
    (talk.produce_request, talk.produce_answer),
    (talk.end_request, talk.end_answer),
)
kinds = st.lists(st.integers(0, len(KINDS) - 1), min_size=1, max_size=8)
sizes = st.lists(st.integers(1, 90), min_size=1, max_size=20)


def spoken(chosen: Sequence[int], cuts: Sequence[int], port: int, *, opens: bool) -> list[bytes]:
    """The packets of a client that sends requests ahead of the answers."""
    made = Connection(client=("127.0.0.1", port))
    if opens:
        made.open()
    asked = b"".join(KINDS[kind][0](number) for number, kind in enumerate(chosen))
    answered = b"".join(KINDS[kind][1](number) for number, kind in enumerate(chosen))
    pieces = {True: asked, False: answered}
    turn = 0
    while any(pieces.values()):
        size = cuts[turn % len(cuts)]
        of_client = bool(turn % 3) if all(pieces.values()) else bool(pieces[True])
        part, pieces[of_client] = pieces[of_client][:size], pieces[of_client][size:]
        (made.ask if of_client else made.answer)(part)
        turn += 1
    return made.close().packets


def exchanged(events: Sequence[dict[str, Any]]) -> list[Any]:
    """Each request with its answer, by connection, without times and numbers of events."""
    answers = {each["cause"]: each for each in events if each["kind"] == "answer"}
    found = []
    for each in events:
        if each["kind"] == "request":
            answer = answers.get(each["seq"], {})
            left = {name: each[name] for name in each if name not in LEFT_OUT}
            found.append(
                (
                    left["connection"].rpartition("-")[0], left["correlation_id"],
                    json.dumps({**left, "connection": ""}), json.dumps(answer.get("response")),
                )
            )  # fmt: skip
    return sorted(found)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), chosen=kinds, cuts=sizes, width=st.integers(1, 12))
def test_cuts_copies_and_other_orders_give_the_same_events(
    data: st.DataObject, chosen: list[int], cuts: list[int], width: int
) -> None:
    whole = spoken(chosen, [10_000], 50_000, opens=True)
    whole += spoken(chosen[::-1], [10_000], 50_001, opens=True)
    packets = spoken(chosen, cuts, 50_000, opens=True)
    opening = {0, 1, len(packets), len(packets) + 1}  # no data is sent before these two arrive
    packets += spoken(chosen[::-1], cuts, 50_001, opens=True)
    late = data.draw(st.lists(st.integers(0, width), min_size=len(packets), max_size=len(packets)))
    order = sorted(range(len(packets)), key=lambda at: (at if at in opening else at + late[at], at))
    copied = data.draw(st.sets(st.integers(0, len(packets) - 1), max_size=8))
    shuffled = [packets[at] for at in order for _ in range(2 if at in copied else 1)]
    events, summary = read(pcap(shuffled, step_s=0.00001))
    assert exchanged(events) == exchanged(read(pcap(whole))[0])
    assert len(exchanged(events)) == 2 * len(chosen)
    assert summary.connections == 2
    assert summary.skipped == []


@settings(max_examples=40, deadline=None)
@given(data=st.data(), chosen=kinds, cuts=sizes)
def test_overlapping_segments_give_the_same_events(
    data: st.DataObject, chosen: list[int], cuts: list[int]
) -> None:
    """The bytes of the client come again in other segments."""
    whole = spoken(chosen, [10_000], 50_000, opens=True)
    cut = spoken(chosen, cuts, 50_000, opens=True)
    again = data.draw(st.integers(3, len(cut)))
    events, _ = read(pcap([*cut[:again], *whole[3:-2], *cut[again:]]))
    assert exchanged(events) == exchanged(read(pcap(whole))[0])


@settings(max_examples=15, deadline=None)
@given(data=st.data(), chosen=kinds, cuts=sizes)
def test_a_lost_segment_makes_up_no_exchange(
    data: st.DataObject, chosen: list[int], cuts: list[int]
) -> None:
    """A capture with a hole has only requests that were sent."""
    packets = spoken(chosen, cuts, 50_000, opens=data.draw(st.booleans()))
    lost = data.draw(st.integers(0, len(packets) - 1))
    events, _ = read(pcap(packets[:lost] + packets[lost + 1 :]))
    said = {(key, request) for _, key, request, _ in exchanged(read(pcap(packets))[0])}
    for _, key, request, _ in exchanged(events):
        assert (key, request) in said or json.loads(request).get("undecoded")


@settings(max_examples=60, deadline=None)
@given(
    first=st.sampled_from([pcap([]), packing.pcapng([(1, [])]), b"", b"\xa1\xb2\xc3\xd4"]),
    rest=st.binary(max_size=400),
)
def test_random_files_are_read_or_refused(first: bytes, rest: bytes) -> None:
    with suppress(NoCapture):
        read(first + rest)


@settings(max_examples=60, deadline=None)
@given(
    payloads=st.lists(st.tuples(st.booleans(), st.binary(max_size=300)), max_size=12),
    opens=st.booleans(),
    is_known=st.booleans(),
)
def test_random_bytes_of_a_connection_never_crash(
    payloads: list[tuple[bool, bytes]], opens: bool, is_known: bool
) -> None:
    made = Connection()
    if opens:
        made.open()
    if is_known:
        made.ask(talk.end_request(1))
    for of_client, data in payloads:
        (made.ask if of_client else made.answer)(data)
    read(pcap(made.close().packets))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_flipped_bytes_never_crash(data: st.DataObject) -> None:
    packets = spoken([0, 1, 2, 1], [50], 50_000, opens=data.draw(st.booleans()))
    whole = bytearray(pcap(packets))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(24, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        events, _ = read(bytes(whole))
    except NoCapture:
        return
    json.dumps(events)


def test_room_that_is_taken_comes_back() -> None:
    room = Room(1 << 20)
    assert room.take(1 << 19)
    assert not room.take((1 << 19) + 1)
    room.give_back(1 << 19)
    assert room.take(1 << 20)


def test_a_connection_that_ends_within_a_frame_gives_back_its_room() -> None:
    large = talk.produce_request(1, bytes(600_000))
    packets = []
    for port in (50_000, 50_001):
        made = Connection(client=("127.0.0.1", port)).open().ask(talk.end_request(0))
        packets += made.ask(large[:-1], 60_000).reset().packets
    made = Connection(client=("127.0.0.1", 50_002)).open().ask(large, 60_000)
    events, _ = read(pcap([*packets, *made.packets]), room=Room(1 << 20))
    assert [each["api"] for each in events if each["kind"] == "request"][-1] == "Produce"
    assert not any("undecoded" in each for each in events)


@pytest.mark.parametrize("size", [1 << 17, 1 << 21])
def test_a_frame_beyond_the_room_appears_with_its_size(size: int) -> None:
    made = Connection().open().ask(talk.end_request(0))
    large = talk.produce_request(1, bytes(size))
    made.ask(large, 60_000).ask(talk.end_request(2)).answer(talk.produce_answer(1))
    events, _ = read(pcap(made.packets), room=Room(1 << 20))
    requests = [each for each in events if each["kind"] == "request"]
    assert [each["correlation_id"] for each in requests] == [0, 1, 2]
    too_large = f"too large to be decoded, {len(large) - 4} bytes"
    assert requests[1].get("undecoded") == (too_large if size > 1 << 20 else None)
