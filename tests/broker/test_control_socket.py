"""The control socket, and lines that are no orders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ottla.broker.control_socket import ControlSocket
from ottla.broker.net.listening import PrivateSocket
from ottla.broker.node_orders import NodeOrders

pytestmark = pytest.mark.real_time

Peer = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def no_http() -> str:
    raise OSError("there is no control by HTTP")


@asynccontextmanager
async def controlled(directory: Path) -> AsyncIterator[Peer]:
    """A connection to the control socket of a process without nodes, where no task may fail."""
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: failures.append(told))
    path = directory / "control"
    server = await ControlSocket(NodeOrders({}), no_http).open(PrivateSocket(str(path)).listening)
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        yield reader, writer
    finally:
        writer.close()
        server.close()
        await asyncio.sleep(0)
    assert failures == []


async def answer(peer: Peer, line: bytes) -> str:
    reader, writer = peer
    writer.write(line)
    async with asyncio.timeout(30):
        return (await reader.readline()).decode()


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe\n", b"stop \xc3\x28\n", b"stop x\n", b"lead a b c\n", b"\n", b"stop 7\n",
        b"stop %s\n" % (b"9" * 5_000), b"stop -1\n",
    ],
)  # fmt: skip
async def test_a_line_that_is_no_order_is_an_error_and_the_next_one_is_read(
    tmp_path: Path, line: bytes
) -> None:
    async with controlled(tmp_path) as peer:
        assert (await answer(peer, line)).startswith("error ")
        assert (await answer(peer, b"queues\n")) == "ok {}\n"


async def test_a_line_without_an_end_is_an_error_and_ends_the_connection(tmp_path: Path) -> None:
    async with controlled(tmp_path) as peer:
        assert (await answer(peer, b"x" * 200_000)) == "error a line has at most 65536 bytes\n"
        async with asyncio.timeout(30):
            assert await peer[0].read() == b""


async def test_a_peer_that_disconnects_before_its_answer_does_no_harm(tmp_path: Path) -> None:
    async with controlled(tmp_path) as (_, writer):
        writer.write(b"queues\n" * 100)
        writer.transport.abort()
        async with asyncio.timeout(30):
            reader, other = await asyncio.open_unix_connection(str(tmp_path / "control"))
            other.write(b"queues\n")
            assert await reader.readline() == b"ok {}\n"
            other.close()
