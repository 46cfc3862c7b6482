"""A process that joins, and its clients, beside a leader that only says that it may."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from ottla.broker.clock import SystemClock
from ottla.broker.quorum.lines import ALIVE, OK, STOP, STOPPED, line, read_line
from ottla.broker.quorum.member import Connect, Member
from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.quorum import Part, Place

pytestmark = pytest.mark.real_time(debug=True)

PATIENCE_S = 10.0
SETTINGS = {"node.id": "2", "listeners": "PLAINTEXT://127.0.0.1:0"}


class Leader:
    """Lets each process join; its end is that of the connection.

    Attributes:
        last_answer: what a client gets when the process stops; None: it takes no clients, and ends
            without a word.
    """

    def __init__(self) -> None:
        self.last_answer: bytes | None = None
        self.has_client = asyncio.Event()
        self._client: asyncio.StreamWriter
        self.said: list[bytes] = []
        self.tasks: set[asyncio.Task[None] | None] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.current_task())
        begins = read_line(await reader.readline())
        if begins.text("kind") == "forward" and self.last_answer is not None:
            self._client = writer
            writer.write(OK)
            self.has_client.set()
            return
        writer.write(line("joined", key="key", cluster_id="cluster"))
        while (said := await reader.readline()) == ALIVE:
            pass
        self.said.append(said)
        if self.last_answer is not None:
            self._client.write(self.last_answer)
            self._client.close()
            writer.write(STOPPED)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def joined(
    host: str = "127.0.0.1", connect: Connect = asyncio.open_connection
) -> AsyncIterator[tuple[Leader, Member]]:
    """A leader, and a process that has joined it at a name of 127.0.0.1."""
    leader, has_joined = Leader(), asyncio.Event()
    server = await asyncio.start_server(leader.serve, "127.0.0.1", 0)
    place = Place(Part.JOINS, (host, server.sockets[0].getsockname()[1]))
    config = BrokerConfig.from_settings(SETTINGS)
    member = Member(config, place, None, SystemClock(), lambda _: has_joined.set(), connect=connect)
    joining = asyncio.create_task(member.keep_joining())
    try:
        async with asyncio.timeout(PATIENCE_S):
            await has_joined.wait()
            yield leader, member
    finally:
        joining.cancel()
        member.close()
        server.close()
        await asyncio.gather(joining, *filter(None, leader.tasks), return_exceptions=True)
        await asyncio.sleep(0)  # the ends of connections


async def test_a_stop_does_not_wait_for_a_leader_that_ends_at_the_same_time() -> None:
    """As all containers do at the end of a compose file: the leader closes without an answer."""
    async with joined() as (leader, member):
        await member.stop()
        assert leader.said == [STOP]


async def test_a_client_that_resets_its_connection_at_once_is_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As scanners of ports do."""
    async with joined() as (_, member):
        for _ in range(3):
            client = socket.create_connection(member.addresses[0], timeout=PATIENCE_S)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        reader, writer = await asyncio.open_connection(*member.addresses[0])
        assert await reader.read() == b""  # the leader takes no clients; the others came before
        writer.close()
    assert not [each for each in caplog.records if each.levelname == "ERROR"]  # of asyncio


async def test_a_leader_that_is_away_without_a_word_is_noticed_after_the_session_timeout() -> None:
    """As after the loss of a network: the system itself would try for a quarter of an hour."""
    async with joined() as (_, member):
        writer = member._writer
        assert writer is not None
        limit = writer.get_extra_info("socket").getsockopt(
            socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT
        )
        assert limit == 9_000


async def test_clients_get_long_answers_that_come_just_before_the_stop() -> None:
    async with joined() as (leader, member):
        leader.last_answer = bytes(1_000_000)
        reader, writer = await asyncio.open_connection(*member.addresses[0])
        await leader.has_client.wait()
        reading = asyncio.create_task(reader.read())
        await member.stop()
        assert await reading == leader.last_answer
        writer.close()


async def test_clients_are_served_while_the_leaders_name_is_not_resolved() -> None:
    """As when other containers come and go: the engine's DNS does not answer for a moment."""
    asked: list[str] = []

    async def resolve_once(
        host: str, port: int, *, limit: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if host == "kafka-1":
            asked.append(host)
            if len(asked) > 1:
                raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
            host = "127.0.0.1"
        return await asyncio.open_connection(host, port, limit=limit)

    async with joined("kafka-1", resolve_once) as (leader, member):
        leader.last_answer = b"answer"
        reader, writer = await asyncio.open_connection(*member.addresses[0])
        reading = asyncio.create_task(reader.read())
        serving = asyncio.create_task(leader.has_client.wait())
        await asyncio.wait({reading, serving}, return_when=asyncio.FIRST_COMPLETED)
        assert serving.done()
        await member.stop()
        assert await reading == b"answer"
        writer.close()
