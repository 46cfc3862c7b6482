"""Markers between the nodes of a process: they come in on the inter-broker listener."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from ottla.broker.clock import SystemClock, Timer
from ottla.broker.events import ConnectionOpened, RequestReceived
from ottla.broker.principals import NODE
from ottla.broker.runtime.work_limits import WorkLimits
from ottla.coordinator.transactions.states import State
from ottla.protocol.api_keys import ApiKey
from tests.broker.observing import Heard
from tests.broker.runtime.marker_scenes import (
    ONE_PARTITION,
    coordinator_of,
    end,
    markers_of,
    others_of,
    prepare,
    state,
)
from tests.broker.several_nodes import SeveralNodes, several_nodes, until
from tests.certificates import authority, tls_settings
from tests.log_lines import LogLines

pytestmark = pytest.mark.real_time(debug=True)

SOON = WorkLimits(marker_retry_ms=1, marker_retry_max_ms=4)
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class Waits(SystemClock):
    """A clock that stores how long its timers wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits_ms: list[float] = []

    def call_after_ms(
        self, wait_ms: float, callback: Callable[..., object], *args: object
    ) -> Timer:
        self.waits_ms.append(wait_ms)
        return super().call_after_ms(wait_ms, callback, *args)


def nodes(
    directory: Path, protocol: str, clock: SystemClock | None = None, /, **more: str
) -> AbstractAsyncContextManager[SeveralNodes]:
    """Three nodes with a listener for clients and one between nodes, of the given protocol."""
    settings = {
        **ONE_PARTITION,
        **tls_settings(directory),
        "listeners": "PLAINTEXT://127.0.0.1:0,NODES://127.0.0.1:0",
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,NODES:{protocol}",
        "inter.broker.listener.name": "NODES",
        "listener.name.nodes.ssl.client.auth": "required",
        "listener.name.nodes.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.nodes.plain.sasl.jaas.config": f'{MODULE} user_alice="secret";',
        **{name.replace("_", "."): text for name, text in more.items()},
    }
    return several_nodes(directory / "data", 3, SOON, clock, **settings)


def begun(it: SeveralNodes) -> Callable[[], None]:
    """A transaction over partitions of all nodes; the function decides to commit it."""
    it.topic("orders", 1, 2, 3)
    producer = prepare(it, *[("orders", index) for index in range(3)])
    return lambda: end(it, producer)


async def committed(it: SeveralNodes) -> None:
    begun(it)()
    await until(lambda: state(it) is State.COMPLETE_COMMIT)


def heard_by(it: SeveralNodes) -> Heard:
    heard = Heard()
    it.nodes[1].events.add(heard)  # those of all nodes
    return heard


def warnings(log_lines: LogLines, event: str) -> list[str]:
    return [
        str(fields["reason"])
        for level, told, fields in log_lines.lines
        if level == "warning" and told == event
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_markers_travel_by_the_listener_between_nodes(tmp_path: Path, protocol: str) -> None:
    async with nodes(tmp_path, protocol) as it:
        commit, others = begun(it), others_of(it)
        heard = heard_by(it)
        commit()
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert [markers_of(it, ("orders", index)) for index in range(3)] == [[(True, 0)]] * 3
        opened = heard.of(ConnectionOpened)
        assert sorted((each.node_id, each.listener) for each in opened) == [
            (node_id, "NODES") for node_id in others
        ]
        requests = heard.of(RequestReceived)
        assert {each.api_key for each in requests} == {ApiKey.WRITE_TXN_MARKERS}
        assert {each.connection_id for each in requests} == {each.connection_id for each in opened}
        assert {each.client_id for each in requests} == {
            f"broker-{coordinator_of(it).node_id}-txn-marker-sender"
        }


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_nodes_of_a_process_know_each_other_without_a_login(
    tmp_path: Path, log_lines: LogLines, protocol: str
) -> None:
    """A wrong password of Kafka's inter-broker login changes nothing."""
    wrong = f'{MODULE} username="admin" password="wrong" user_admin="right";'
    more = {"listener.name.nodes.plain.sasl.jaas.config": wrong}
    async with nodes(tmp_path, protocol, **more) as it:
        await committed(it)
    told = [event for _, event, _ in log_lines.lines]
    assert "authentication failed" not in told
    assert "the client has logged in" not in told
    assert "markers do not reach a node" not in told


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
async def test_the_address_of_a_closed_connection_between_nodes_is_a_clients(
    tmp_path: Path, protocol: str
) -> None:
    """Another program of the machine may get it, and must not get a node's rights."""
    async with nodes(tmp_path, protocol) as it:
        heard = heard_by(it)
        await committed(it)
        other = it.doors[others_of(it)[0]]
        assert [each.info.principal for each in other._connections] == [NODE]
        ids = [each.connection_id for each in heard.of(ConnectionOpened)]
        own = f"127.0.0.1:{other.between_nodes[1]}-"
        (address,) = [each.removeprefix(own) for each in ids if each.startswith(own)]
        port = int(address.split("-")[0].rpartition(":")[2])
        other.cut()
        await until(lambda: not other._connections)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with client:
            await until(lambda: binds(client, port))
            client.connect(other.between_nodes)
            await until(lambda: other._connections)
            (found,) = other._connections
            assert found.info.principal != NODE
            assert found.info.is_authenticated is (protocol == "SSL")


def binds(client: socket.socket, port: int) -> bool:
    try:
        client.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


async def test_a_certificate_that_nodes_do_not_trust_has_one_line_and_growing_waits(
    tmp_path: Path, log_lines: LogLines
) -> None:
    clock = Waits()
    async with nodes(tmp_path, "SSL", clock) as it:
        commit = begun(it)
        (tmp_path / "ca.pem").write_text(authority("another CA").pem)
        channel = coordinator_of(it).marker_channel
        clock.waits_ms.clear()
        commit()
        await until(lambda: channel.retries >= 12)
        assert state(it) is State.PREPARE_COMMIT
        told = warnings(log_lines, "markers do not reach a node")
        assert len(told) == 2, "one for each node"
        refused = warnings(log_lines, "connection closed")
        assert refused
        assert len(refused) <= 6, "three in a minute for each node"
        assert refused[0].startswith("TLS handshake failed: the client's certificate is refused: ")
        waits_ms = [each for each in clock.waits_ms if 0 < each <= 4]
        assert waits_ms[:8] == [1, 1, 2, 2, 4, 4, 4, 4]
        (tmp_path / "ca.pem").write_text(authority().pem)
        await until(lambda: state(it) is State.COMPLETE_COMMIT)


async def test_a_key_store_that_cannot_be_read_stops_no_markers(tmp_path: Path) -> None:
    async with nodes(tmp_path, "SSL") as it:
        commit = begun(it)
        (tmp_path / "server.pem").write_text("half of a key")
        commit()
        await until(lambda: state(it) is State.COMPLETE_COMMIT)
        assert coordinator_of(it).marker_channel.retries == 0


@pytest.mark.parametrize(
    "more",
    [
        {"ssl_enabled_protocols": "TLSv1.2"},
        {"ssl_enabled_protocols": "TLSv1.3"},
        {"ssl_cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
        {"ssl_cipher_suites": "TLS_AES_128_GCM_SHA256"},
    ],
    ids=lambda more: next(iter(more.values())),
)
async def test_markers_travel_by_each_version_and_suite_of_tls(
    tmp_path: Path, more: dict[str, str]
) -> None:
    async with nodes(tmp_path, "SSL", **more) as it:
        await committed(it)
        assert coordinator_of(it).marker_channel.retries == 0
