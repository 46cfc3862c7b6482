"""`max.connection.creation.rate`: how many connections are taken up in a second."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from ottla.broker.net.connection import Connection
from ottla.broker.net.connection_rates import WAITING_AT_MOST, CreationRates
from ottla.broker.requests.context import ConnectionInfo
from ottla.broker.settings.config import BrokerConfig
from tests.broker.fakes import LISTENER
from tests.clocks import LoopClock

RATE = "max.connection.creation.rate"


class Door:
    """Connections that come, and when each is taken up, in seconds."""

    def __init__(self, **settings: str) -> None:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        self.config = BrokerConfig.from_settings(given)
        self.rates = CreationRates(self.config, LoopClock(), self._admit)
        self.began_s = asyncio.get_running_loop().time()
        self.admitted: list[tuple[int, float]] = []
        self.closed: list[int] = []
        self.held: set[int] = set()
        self.broken: int | None = None  # its release fails

    def _admit(self, listener: str, connection: Connection) -> None:
        now_s = asyncio.get_running_loop().time() - self.began_s
        self.admitted.append((cast(Any, connection).number, round(now_s, 3)))

    def connect(self, number: int, listener: str = "PLAINTEXT") -> Connection:
        connection = cast(Connection, Held(self, number))
        if not self.rates.holds(listener, connection):
            self._admit(listener, connection)
        return connection

    def at_once(self) -> int:
        return sum(when == 0.0 for _, when in self.admitted)


class Held:
    """As much of a connection as there is before it is taken up."""

    def __init__(self, door: Door, number: int) -> None:
        self.number = number
        self.info = ConnectionInfo(str(number), "client:1", "client", LISTENER)
        self._door = door

    def hold(self) -> None:
        self._door.held.add(self.number)

    def release(self) -> None:
        self._door.held.discard(self.number)
        if self.number == self._door.broken:
            raise RuntimeError("a fault")

    def end(self) -> None:
        self._door.closed.append(self.number)


async def test_no_connection_waits_without_a_rate_limit() -> None:
    door = Door()
    for number in range(5000):
        door.connect(number)
    assert door.at_once() == 5000
    assert not door.held


async def test_a_connection_that_cannot_be_released_does_not_keep_the_others_waiting() -> None:
    door = Door(max_connection_creation_rate="2")
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    door.broken = 25
    for number in range(40):
        door.connect(number)
    await asyncio.sleep(30)
    assert [number for number, _ in door.admitted] == [*range(25), *range(26, 40)]


async def test_a_burst_is_spread_in_its_order_at_the_rate() -> None:
    door = Door(max_connection_creation_rate="2")
    for number in range(40):
        door.connect(number)
    assert door.at_once() == 20  # the limit of a window of ten seconds
    assert len(door.held) == 20
    await asyncio.sleep(30)
    assert [number for number, _ in door.admitted] == list(range(40))
    assert not door.held
    waits = [when for _, when in door.admitted][20:]
    assert 9 <= waits[-1] - waits[0] <= 12  # 19 at 2 a second; a window drops whole samples


async def test_a_listener_has_a_rate_of_its_own() -> None:
    door = Door(
        listeners="PLAINTEXT://:0,INSIDE://h:0",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
        listener_name_inside_max_connection_creation_rate="1",
    )
    for number in range(20):
        door.connect(number, "INSIDE")
    assert door.at_once() == 10
    for number in range(20, 40):
        door.connect(number, "PLAINTEXT")
    assert door.at_once() == 30


async def test_the_rate_of_all_does_not_hold_where_brokers_talk_to_each_other() -> None:
    door = Door(
        listeners="PLAINTEXT://:0,INSIDE://h:0",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
        inter_broker_listener_name="INSIDE",
        max_connection_creation_rate="1",
    )
    for number in range(40):
        door.connect(number, "INSIDE")
    assert door.at_once() == 40
    for number in range(40, 80):
        door.connect(number)
    assert door.at_once() == 50


async def test_a_rate_can_be_set_and_taken_away_while_the_broker_runs() -> None:
    door = Door()
    door.config.use_dynamic({RATE: "1"}, {})
    for number in range(12):
        door.connect(number)
    assert door.at_once() == 10
    door.config.use_dynamic({}, {})
    await asyncio.sleep(1)
    assert len(door.admitted) == 12
    door.connect(12)
    assert len(door.admitted) == 13


async def test_a_client_that_leaves_while_it_waits_does_not_delay_others() -> None:
    door = Door(max_connection_creation_rate="1")
    waiting = [door.connect(number) for number in range(14)][10:]
    for connection in waiting[:3]:
        door.rates.gone(connection)
    await asyncio.sleep(5)
    assert [number for number, _ in door.admitted][10:] == [13]


async def test_waiting_connections_are_bounded() -> None:
    door = Door(max_connection_creation_rate="1")
    for number in range(10 + WAITING_AT_MOST + 5):
        door.connect(number)
    assert len(door.held) == WAITING_AT_MOST
    assert len(door.closed) == 5


async def test_a_rate_of_0_lets_one_in_for_each_sample() -> None:
    door = Door(max_connection_creation_rate="0")
    for number in range(3):
        door.connect(number)
    await asyncio.sleep(10)
    assert [when for _, when in door.admitted] == [1.0, 2.0, 3.0]


async def test_a_stopping_node_accepts_no_waiting_connection() -> None:
    door = Door(max_connection_creation_rate="0")
    door.connect(1)
    door.rates.stop()
    await asyncio.sleep(10)
    assert door.admitted == []
