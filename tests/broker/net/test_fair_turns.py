"""Connections with much work give way to others; time is a number that work advances."""

from __future__ import annotations

import asyncio

import pytest

from ottla.broker.net.fair_turns import READ_BYTES, SLICE_S, TURN_S, FairTurns
from tests.broker.fakes import settle

STEP_S = SLICE_S / 4


class Bench:
    """Some that share, and what was done in which order."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.turns = FairTurns(lambda: self.now_s)
        self.done: list[str] = []

    def worker(self, name: str, pieces: int, piece_s: float = STEP_S) -> Worker:
        return Worker(self, name, pieces, piece_s)

    async def turn_of_the_loop(self) -> list[str]:
        """The work of a turn."""
        before = len(self.done)
        await asyncio.sleep(0)
        return self.done[before:]


class Worker:
    """One that has so many pieces of work, each of which takes so long."""

    def __init__(self, bench: Bench, name: str, pieces: int, piece_s: float) -> None:
        self._bench, self._name, self._piece_s = bench, name, piece_s
        self.pieces = pieces
        self.receives = True
        self.is_broken = False

    def hold(self) -> None:
        assert self.receives
        self.receives = False

    def release(self) -> None:
        assert not self.receives
        self.receives = True

    def give_up(self, why: str) -> None:
        self._bench.done.append(f"{self._name} is given up: {why}")

    def serve(self, until_s: float) -> bool:
        bench = self._bench
        if self.is_broken:
            raise ZeroDivisionError
        for count in range(self.pieces):
            if count and bench.now_s >= until_s:
                return True
            self.pieces -= 1
            bench.done.append(self._name)
            bench.now_s += self._piece_s
        return False


async def test_work_within_a_slice_is_done_at_once() -> None:
    bench = Bench()
    for name in "abc":
        bench.turns.take(bench.worker(name, 2))
    assert bench.done == [*"aabbcc"]
    assert len(bench.turns) == 0


async def test_more_than_a_slice_is_done_in_later_turns_until_all_is() -> None:
    bench = Bench()
    flood = bench.worker("flood", 100)
    bench.turns.take(flood)
    assert len(bench.done) == 4
    await settle()
    assert len(bench.done) == 100
    assert len(bench.turns) == 0


async def test_a_turn_of_the_loop_ends_though_work_is_left() -> None:
    bench = Bench()
    for name in range(200):
        bench.turns.take(bench.worker(str(name), 1000))
    assert len(bench.done) * STEP_S <= TURN_S + STEP_S, "those that came in one turn, in all"
    for _ in range(20):
        done = await bench.turn_of_the_loop()
        assert 0 < len(done) * STEP_S <= TURN_S + STEP_S


async def test_longer_work_gets_slices_in_turn() -> None:
    bench = Bench()
    for name in "abc":
        bench.turns.take(bench.worker(name, 1000))
    for _ in range(4):
        await bench.turn_of_the_loop()
    done = [name for _ in range(12) for name in await bench.turn_of_the_loop()]
    for name in "abc":
        assert abs(done.count(name) - len(done) / 3) <= SLICE_S / STEP_S


async def test_a_single_request_waits_for_no_flood_but_for_the_turn_that_it_came_in() -> None:
    bench = Bench()
    for name in range(200):
        bench.turns.take(bench.worker(f"flood {name}", 1000))
    while len(set(bench.done)) < 200:
        await bench.turn_of_the_loop()
    for _ in range(10):
        bench.turns.take(bench.worker("good", 1))
        done = await bench.turn_of_the_loop()
        assert "good" in done[: 1 + round(SLICE_S / STEP_S)], "behind a slice of one flood"


async def test_a_new_one_gets_one_request_before_it_waits_as_the_others_do() -> None:
    bench = Bench()
    bench.turns.take(bench.worker("old", 100))
    for name in "abcd":
        bench.turns.take(bench.worker(name, 3))
    done = [*await bench.turn_of_the_loop(), *await bench.turn_of_the_loop()]
    assert done[:8] == ["old"] * 4 + [*"abcd"]


async def test_a_flood_is_served_though_new_ones_come_all_the_time() -> None:
    bench = Bench()
    flood = bench.worker("flood", 100)
    bench.turns.take(flood)
    for turn in range(20):
        for name in range(40):
            bench.turns.take(bench.worker(f"new {turn} {name}", 1))
        assert "flood" in await bench.turn_of_the_loop()


async def test_one_that_is_lost_is_served_no_more() -> None:
    bench = Bench()
    lost, left = bench.worker("lost", 100), bench.worker("left", 100)
    bench.turns.take(lost)
    bench.turns.take(left)
    bench.turns.forget(lost)
    before = bench.done.count("lost")
    await settle()
    assert (bench.done.count("lost"), bench.done.count("left")) == (before, 100)
    assert len(bench.turns) == 0


async def test_a_connection_that_gets_more_work_while_it_waits_is_queued_once() -> None:
    bench = Bench()
    flood = bench.worker("flood", 8)
    for _ in range(3):
        bench.turns.take(flood)
    assert len(bench.turns) == 1
    await settle()
    assert bench.done == ["flood"] * 8


async def test_a_turn_receives_no_more_of_large_requests_than_it_should() -> None:
    """60 connections that sent 30 MB each kept the loop reading for 0.2 s at a time."""
    bench = Bench()
    senders = [bench.worker(str(number), 0) for number in range(60)]
    chunk = READ_BYTES // 16
    received = dict.fromkeys(senders, 0)
    for _ in range(200):
        in_this_turn = 0
        for sender in senders:
            while sender.receives:  # a socket gives what it has, chunk by chunk
                bench.turns.received(sender, chunk)
                received[sender] += chunk
                in_this_turn += chunk
        assert in_this_turn <= READ_BYTES + 60 * chunk, "all that were not known to send much"
        await asyncio.sleep(0)
        assert sum(sender.receives for sender in senders) <= 16
    assert min(received.values()) >= 10 * chunk, "all get on"
    await settle()
    assert all(sender.receives for sender in senders)


async def test_a_fault_of_one_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    broken, good = bench.worker("broken", 100), bench.worker("good", 100)
    bench.turns.take(broken)
    bench.turns.take(good)
    broken.is_broken = True
    for _ in range(20):
        await settle()
    assert good.pieces == 0
    assert "broken is given up: a fault of the broker: ZeroDivisionError()" in bench.done
    assert len(bench.turns) == 0
    assert "ZeroDivisionError" in caplog.text
    later = bench.worker("later", 100)
    bench.turns.take(later)
    for _ in range(20):
        await settle()
    assert later.pieces == 0
