"""Moments: when a side answers, when neither does, and when one is not ready yet."""

from __future__ import annotations

import asyncio
import json
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from ottla.protocol.errors import Code
from ottla.testing import Ottla
from ottla.trials.diff.comparison import Known
from ottla.trials.diff.exchanges import Exchanger
from ottla.trials.diff.final_state import FinalState
from ottla.trials.diff.ids import Ids, Translation
from ottla.trials.diff.journal import Journal
from ottla.trials.diff.messages import Request, read_request
from ottla.trials.diff.recording_replay import alone_s
from ottla.trials.diff.sides import CLOSED, SILENT, SideConnection
from ottla.trials.diff.waits import WAITS, Wait, different_moments

from .comparing import diff, program
from .scripted import NOWHERE, Scripted, answer, request


class Silence(Exchanger):
    """Its own requests have no answers."""

    def connections(self) -> list[SideConnection]:
        return [Scripted(), Scripted()]


def exchanger(journal: Journal, **limits: float) -> Exchanger:
    return Silence(NOWHERE, Ids(), Known(frozenset(), set()), journal, **limits)


FETCH = request(ApiKey.FETCH, 12, {"max_wait_ms": 500, "topics": []})
SHARE_FETCH = request(ApiKey.SHARE_FETCH, 1, {"max_wait_ms": 500, "topics": []})
HEARTBEAT = request(ApiKey.HEARTBEAT, 0, {"group_id": "g", "generation_id": 1, "member_id": "m"})


@pytest.mark.parametrize(
    ("asked", "after_s", "texts"),
    [
        (FETCH, (0.01, 0.02), None),
        (FETCH, (0.501, 0.503), None),
        (FETCH, (0.01, 0.3), None),  # an event
        (FETCH, (0.3, 0.51), None),
        (FETCH, (0.01, 0.51), ("before its limit", "at its limit")),
        (FETCH, (0.51, 0.01), ("at its limit", "before its limit")),
        (request(ApiKey.FETCH, 12, {"max_wait_ms": 0, "topics": []}), (0.01, 0.1), None),
        (SHARE_FETCH, (0.51, 0.01), ("at its limit", "before its limit")),
        (SHARE_FETCH, (0.01, 0.51), None),
        (HEARTBEAT, (0.01, 2.9), None),
        (HEARTBEAT, (3.2, 0.1), ("more than 3 s later", "the first answer")),
    ],
)
def test_moments_differ_if_one_side_alone_waits(
    asked: Request, after_s: tuple[float, float], texts: tuple[str, str] | None
) -> None:
    assert different_moments(asked, after_s) == texts


def test_a_replayed_fetch_that_ends_soon_is_not_overtaken() -> None:
    fetches = [request(ApiKey.FETCH, 12, {"max_wait_ms": limit}) for limit in (500, 60_000)]
    soon_s, long_s = map(alone_s, fetches)
    assert soon_s > 10 * long_s
    assert alone_s(request(ApiKey.JOIN_GROUP, 5, {"rebalance_timeout_ms": 100})) == long_s


def test_each_api_that_waits_is_one() -> None:
    assert WAITS.keys() <= {api_name(key) for key in ApiKey}
    assert set(WAITS.values()) == set(Wait) - {Wait.NOTHING}


async def test_a_short_difference_of_moments_counts_when_it_comes_again() -> None:
    journal = Journal()
    both = exchanger(journal)
    for _ in range(2):
        sides = [Scripted((0.0, answer(FETCH, {}))), Scripted((0.5, answer(FETCH, {})))]
        await both.exchange(1, sides, FETCH, (None, None), asyncio.Event())
    (note,) = journal.notes
    assert "Ottla answered before its limit, Kafka at its limit" in note
    ((field,),) = [each.fields for each in journal.unique()]
    assert field == ("(moment)", "(moment)", "before its limit", "at its limit")


async def test_other_answers_at_other_moments_are_one_difference() -> None:
    journal = Journal()
    ours = answer(FETCH, {"error_code": Code.INVALID_FETCH_SESSION_EPOCH})
    sides = [Scripted((0.0, ours)), Scripted((0.5, answer(FETCH, {})))]
    await exchanger(journal).exchange(1, sides, FETCH, (None, None), asyncio.Event())
    (found,) = journal.unique()
    assert [field.kind for field in found.fields] == ["error_code"]
    assert not journal.notes


async def test_two_sides_that_never_answer_are_not_waited_for_for_ever() -> None:
    journal = Journal()
    both = exchanger(journal, neither_s=0.05)
    outcomes = await both.exchange(
        1, [Scripted(), Scripted()], HEARTBEAT, (None, None), asyncio.Event()
    )
    assert outcomes == (SILENT, SILENT)
    assert not journal.unique()


@pytest.mark.parametrize("differs", [False, True])
async def test_a_last_comparison_without_answers_is_no_agreement(
    differs: bool,
) -> None:
    journal = Journal()
    both = exchanger(journal, neither_s=0.02)
    if differs:
        await both.exchange(
            1, [Scripted((0, CLOSED)), Scripted((0, answer(HEARTBEAT, {})))],
            HEARTBEAT, (None, None), asyncio.Event(),
        )  # fmt: skip
    both.groups.add("g")
    await FinalState(both, (None, None), 1).compare()
    why = "neither side answered the comparison of what is left (OffsetFetch 8)"
    assert journal.trouble == ("" if differs else why)
    assert (why in journal.notes) == differs


JOIN = request(
    ApiKey.JOIN_GROUP, 5,
    {"group_id": "g", "session_timeout_ms": 6000, "rebalance_timeout_ms": 6000, "member_id": "",
     "protocol_type": "consumer", "protocols": []},
)  # fmt: skip
SYNC = request(ApiKey.SYNC_GROUP, 3, {"group_id": "g", "generation_id": 1, "member_id": "m"})
NOT_READY = [
    Code.NOT_COORDINATOR,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.COORDINATOR_LOAD_IN_PROGRESS,
]


@pytest.mark.parametrize("code", NOT_READY)
@pytest.mark.parametrize("asked", [JOIN, SYNC], ids=lambda one: one.api)
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("other_s", [0.0, 0.4])
async def test_a_side_that_is_not_ready_is_asked_again_while_the_other_waits_for_members(
    asked: Request, code: Code, side: int, other_s: float
) -> None:
    journal = Journal()
    good = answer(asked, {"error_code": 0})
    sides = [Scripted((other_s, good)), Scripted((other_s, good))]
    sides[side].answers[:0] = [(0.0, answer(asked, {"error_code": code}))] * 2
    outcomes = await exchanger(journal).exchange(1, sides, asked, (None, None), asyncio.Event())
    assert outcomes == (good, good)
    assert [each.asked for each in sides] == [1 + 2 * (side == 0), 1 + 2 * (side == 1)]
    assert not journal.unique()
    assert [f"{asked.api}, {code.name}" in note for note in journal.notes] == [True]


async def test_two_sides_that_are_not_ready_say_the_same() -> None:
    journal = Journal()
    not_yet = answer(JOIN, {"error_code": Code.NOT_COORDINATOR})
    sides = [Scripted((0.0, not_yet)), Scripted((0.01, not_yet))]
    assert await exchanger(journal).exchange(1, sides, JOIN, (None, None), asyncio.Event()) == (
        not_yet,
        not_yet,
    )
    assert not journal.unique()


def unreadable() -> Iterator[Request]:
    """Requests of all APIs and versions whose bodies are empty, random, or cut."""
    drawn = random.Random(5)
    for key in [*range(100), 999]:
        for version in (0, 1, 2, 5, 9, 99):
            for body in (b"", drawn.randbytes(20), b"\0\0\0\1"):
                frame = struct.pack(">hhih", key, version, 7, -1) + body
                yield read_request(frame)


async def test_an_unreadable_request_is_compared_like_others() -> None:
    """An old library sends versions that are gone, such as OffsetCommit 1."""
    journal = Journal()
    both = exchanger(journal)
    translation = Translation(Ids().to_left, lambda _, value: value)
    requests = [each for each in unreadable() if each.fields is None]
    assert len(requests) > 1000
    for number, each in enumerate(requests):
        for ours in (CLOSED, SILENT):
            await both.exchange(
                number, [Scripted((0, ours)), Scripted((0, CLOSED))], each, (translation, None),
                asyncio.Event(),
            )  # fmt: skip
    assert {field.kafka for found in journal.unique() for field in found.fields} == {CLOSED.ended}


@contextmanager
def faulty(second: Ottla, kind: str, **fault: Any) -> Iterator[None]:
    second.faults.add(kind, **fault)
    yield
    second.faults.clear()


def test_a_broker_that_waits_alone_is_found(tmp_path: Path) -> None:
    """The other one is no Kafka, so that it is not called one."""
    settings = {"group.initial.rebalance.delay.ms": "0"}
    report = tmp_path / "report.json"
    with Ottla(settings=settings) as first, Ottla(settings=settings) as second:
        match = {"api": "InitProducerId", "times": 1}
        with faulty(second, "delay", ms=3_300, match=match):
            assert diff((first, second), report, *program("late", "admin", "transactions")) == 1
        assert diff((first, second), tmp_path / "report.md", *program("again", "admin")) == 0
    found = json.loads(report.read_text())
    assert "Kafka" not in found["facts"]
    assert found["facts"]["clients got the answers of"] == "the other broker"
    ((field,),) = [each["fields"] for each in found["differences"]]
    assert field["kind"] == "(moment)"
    assert (field["ottla"], field["kafka"]) == ("the first answer", "more than 3 s later")
    title = (tmp_path / "report.md").read_text().splitlines()[0]
    assert title.startswith("# Ottla and the other broker gave the same answers")
