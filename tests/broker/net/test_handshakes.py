"""Unfinished handshakes are limited in number and time."""

from __future__ import annotations

import asyncio

from ottla.broker.net.handshakes import HANDSHAKE_MS, Handshakes
from tests.clocks import LoopClock


class Shaking:
    """A connection in its handshake."""

    def __init__(self, name: str, given_up: list[tuple[str, str]]) -> None:
        self._name = name
        self._given_up = given_up

    def give_up(self, why: str) -> None:
        self._given_up.append((self._name, why))


async def test_the_oldest_of_too_many_handshakes_is_given_up() -> None:
    given_up: list[tuple[str, str]] = []
    handshakes = Handshakes(LoopClock(), unfinished=2)
    every = [Shaking(name, given_up) for name in "abc"]
    timers = [handshakes.began(one) for one in every[:2]]
    handshakes.ended(every[0])
    timers.append(handshakes.began(every[2]))
    assert not given_up
    timers.append(handshakes.began(every[0]))
    assert given_up == [("b", "more than 2 handshakes are not finished")]
    assert len(handshakes) == 2
    for timer in timers:
        timer.cancel()


async def test_a_handshake_has_a_limited_time() -> None:
    given_up: list[tuple[str, str]] = []
    handshakes = Handshakes(LoopClock())
    handshakes.began(Shaking("slow", given_up))
    finished = handshakes.began(Shaking("fast", given_up))
    finished.cancel()
    await asyncio.sleep(HANDSHAKE_MS / 1000 - 0.001)
    assert not given_up
    await asyncio.sleep(0.002)
    assert given_up == [("slow", f"no TLS handshake within {HANDSHAKE_MS} ms")]
