"""A connection under anything in any order: each request is answered once, in order, to the end."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from ottla.broker.net.fair_turns import SLICE_S
from tests.broker.fakes import FakeTransport, correlation_ids, deliver, settle
from tests.broker.net.peers import Peer, fetch, heartbeat, list_offsets, produce, until_served
from tests.log_lines import LogLines

ROUNDS = 60


class Client:
    """One end: what it has sent, and what it does next by chance."""

    def __init__(self, it: Peer, chance: random.Random, number: int) -> None:
        self.connection, self.transport = it.another()
        self._chance, self._next = chance, number * 10_000
        self._unsent = b""
        self.expected: list[int] = []
        self.is_paused = False

    def ask(self) -> None:
        for _ in range(self._chance.choice([1, 1, 3, 40])):
            number, self._next = self._next, self._next + 1
            kind = self._chance.choice(["small", "large", "fetch", "offsets", "silent", "much"])
            if kind == "silent":
                self._unsent += produce(number)
                continue
            self.expected.append(number)
            if kind == "fetch":
                self._unsent += fetch(number)
            elif kind == "offsets":
                self._unsent += list_offsets(number)
            elif kind == "much":
                self._unsent += heartbeat(number, "uses too much")
            else:
                size = 0 if kind == "small" else self._chance.choice([1000, 30_000])
                self._unsent += heartbeat(number, "x" * size)

    def send(self) -> None:
        if self.transport.reading and self._unsent:
            size = self._chance.choice([1, 7, 1000, 65_536, 1 << 18])
            part, self._unsent = self._unsent[:size], self._unsent[size:]
            deliver(self.connection, part)

    def pause(self) -> None:
        if not self.is_paused:
            self.is_paused = True
            self.connection.pause_writing()

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            self.connection.resume_writing()

    @property
    def has_sent_all(self) -> bool:
        return not self._unsent


def answer_one(it: Peer, chance: random.Random) -> None:
    waiting = [one for one in it.waiting if not one.done()]
    if waiting:
        chance.choice(waiting).set_result(None)


@pytest.mark.parametrize("seed", range(12))
async def test_each_request_is_answered_once_and_in_order(
    monkeypatch: pytest.MonkeyPatch, log_lines: LogLines, seed: int
) -> None:
    it = Peer(monkeypatch, log_lines)
    chance = random.Random(seed)
    it.request_s = chance.choice([0, SLICE_S / 5, SLICE_S * 2])
    it.may_hasten = chance.random() < 0.5
    clients = [Client(it, chance, number) for number in range(1, 6)]
    does: list[Any] = [Client.ask, Client.send, Client.send, Client.pause, Client.resume]
    for _ in range(ROUNDS):
        for client in clients:
            chance.choice(does)(client)
        if chance.random() < 0.3:
            answer_one(it, chance)
        await asyncio.sleep(chance.choice([0, 0, 0, 0.5]))
    await _to_the_end(it, clients)
    await asyncio.sleep(3)  # the last pause of a quota is over
    for client in clients:
        assert numbers(client.transport) == client.expected
        assert client.transport.reading
        assert client.connection._frames.is_empty
    requests, answers = it.memory
    assert (requests.used_bytes, answers.used_bytes, len(it.turns)) == (0, 0, 0)


async def _to_the_end(it: Peer, clients: list[Client]) -> None:
    for _ in range(300):
        for client in clients:
            client.resume()
            client.send()
        for one in it.waiting:
            if not one.done():
                one.set_result(None)
        await settle()
        await until_served(it)
        done = all(numbers(client.transport) == client.expected for client in clients)
        if done and all(client.has_sent_all for client in clients):
            return
        await asyncio.sleep(0.5)  # muted ones go on
    pytest.fail("some are never answered")


def numbers(transport: FakeTransport) -> list[int]:
    """The requests that were answered."""
    return correlation_ids(transport.written)
