"""Connections to the controller's port that are no process of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ottla.broker.clock import SystemClock
from ottla.broker.net.listening import listen_on
from ottla.broker.net.sockets import NodeSockets
from ottla.broker.node import Node
from ottla.broker.quorum.leader import QuorumListener
from ottla.broker.quorum.lines import LIMIT_BYTES, MAGIC, line, read_line
from ottla.broker.quorum.members import Members
from tests.broker.several_nodes import several_nodes

pytestmark = pytest.mark.real_time(debug=True)

PATIENCE_S = 10.0


@asynccontextmanager
async def listener(
    directory: Path, *on_added: Callable[[Node, NodeSockets], None]
) -> AsyncIterator[tuple[Members, int]]:
    """A listener of a cluster with one node, and its port."""
    async with several_nodes(directory, 1) as cluster:
        clock = SystemClock()
        served = {cluster.nodes[1]: cluster.doors[1]}
        members = Members(cluster.cluster, served, directory, clock, on_added)
        bound = listen_on("127.0.0.1", 0)
        made = QuorumListener(bound, members, clock, 200)
        await made.open()
        try:
            yield members, bound.getsockname()[1]
        finally:
            await made.close()
            for door in served.values():
                door.refuse()
                door.cut()


async def answer_to(port: int, data: bytes) -> bytes:
    """What comes until the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


def joining(node_id: int, **changes: object) -> bytes:
    fields: dict[str, object] = {
        "node_id": node_id,
        "is_broker": True,
        "settings": {"node.id": str(node_id), "listeners": "PLAINTEXT://:19092"},
        "ports": {"PLAINTEXT": 19092},
        "sections": {},
        "cluster_id": None,
    }
    return line("join", **(fields | changes))


def joining_with_port(port: int) -> bytes:
    settings = {"node.id": "2", "listeners": "PLAINTEXT://:0"}
    return joining(2, settings=settings, ports={"PLAINTEXT": port})


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("0000000a 0012 0000 00000007 ffff"),
        b"GET / HTTP/1.1\r\n\r\n",
        MAGIC + b"{}\n",
        MAGIC + b"[]\n",
        MAGIC + b"{\n",
        line("join", node_id="2"),
        MAGIC + b"[" * 200_000 + b"\n",
        joining_with_port(70_000),
        line("forward", node_id=1, key="guessed", listener="PLAINTEXT", client=["::1", 1], at=[]),
        MAGIC + bytes(LIMIT_BYTES),
    ],
    ids=[
        "ApiVersions",
        "HTTP",
        "empty",
        "list",
        "half",
        "wrong join",
        "deep",
        "wrong port",
        "guessed key",
        "endless",
    ],
)
async def test_a_stranger_is_cut_off(
    tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with listener(tmp_path) as (_, port):
        assert await answer_to(port, data) == b""
    assert not [each for each in caplog.records if each.levelname == "ERROR"]  # of asyncio


@pytest.mark.parametrize(
    ("data", "reason", "may_try_again"),
    [
        (joining(1), "another process is node 1", True),
        (joining(2, cluster_id="abcdefghijklmnopqrstuv"), "CLUSTER_ID is abcdef", False),
        (joining(2, settings={"node.id": "2", "num.partitions": "0"}), "num.partitions", False),
        (joining(2, settings={"node.id": "1"}), "its node.id is 1", False),
    ],
)
async def test_a_process_that_may_not_join_hears_why(
    tmp_path: Path, data: bytes, reason: str, may_try_again: bool
) -> None:
    async with listener(tmp_path) as (members, port):
        said = read_line(await answer_to(port, data))
        assert reason in said.text("reason")
        assert said.flag("may_try_again") is may_try_again
        with pytest.raises(ValueError, match="no process has joined"):
            members.door_of(2, "")


async def test_the_node_of_a_silent_process_is_fenced(tmp_path: Path) -> None:
    """As after a pause of its container: its connection stays, and says nothing."""
    async with listener(tmp_path) as (members, port):
        said = await answer_to(port, joining(2))  # ends when the listener gives it up
        assert read_line(said).text("kind") == "joined"
        brokers = members.cluster.catalog.brokers
        async with asyncio.timeout(PATIENCE_S):
            while not brokers[2].is_fenced:  # noqa: ASYNC110 - no event tells it
                await asyncio.sleep(0.001)


async def test_a_guessed_key_may_have_any_character(tmp_path: Path) -> None:
    async with listener(tmp_path) as (members, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(joining(2))
        assert read_line(await reader.readline()).text("kind") == "joined"
        with pytest.raises(ValueError, match="with this key"):
            members.door_of(2, "gu\xe9ssed")
        writer.close()


async def test_a_process_whose_join_fails_may_try_again(tmp_path: Path) -> None:
    fails = iter([MemoryError()])

    def fail_once(*_: object) -> None:
        for error in fails:
            raise error

    async with listener(tmp_path, fail_once) as (members, port):
        assert await answer_to(port, joining(2)) == b""
        assert read_line(await answer_to(port, joining(2))).text("kind") == "joined"
        assert set(members.cluster.nodes) == {1, 2}


async def test_a_node_that_the_control_has_started_ends_when_its_process_joins_with_other_settings(
    tmp_path: Path,
) -> None:
    async with listener(tmp_path) as (members, port):
        await answer_to(port, joining(2))
        before = members.cluster.nodes[2]
        async with asyncio.timeout(PATIENCE_S):
            while before.runs:  # noqa: ASYNC110 - no event tells it
                await asyncio.sleep(0.001)
        await members._orders.start(2)
        settings = {"node.id": "2", "listeners": "PLAINTEXT://:19093"}
        await answer_to(port, joining(2, settings=settings))
        assert members.cluster.nodes[2] is not before
        assert not before.runs
