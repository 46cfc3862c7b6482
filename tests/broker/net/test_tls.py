"""TLS on a listener: clients with and without certificates, failures, and new certificates."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from ottla.broker.net.sockets import NodeSockets
from ottla.broker.net.tls_transport import LITTLE_BYTES, PIECE_BYTES, RECEIVED_BYTES, TlsTransport
from ottla.broker.node import Node
from ottla.broker.requests.config_checks import check
from ottla.broker.settings.definitions import BadSetting
from ottla.client.async_connection import read_frame
from ottla.metadata.catalog import ResourceType
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import Code, Refused
from ottla.protocol.requests import read_answer, request_frame
from ottla.security.certificates import Issued, issue, pkcs12_key_store, pkcs12_trust_store
from ottla.security.jks import JksStore, KeyEntry, write_jks
from tests.broker.fakes import framed
from tests.broker.net.listening_node import REQUEST, listening_node
from tests.certificates import (
    EXPIRED,
    HOSTS,
    NOT_YET_VALID,
    OURS,
    VALID,
    authority,
    client,
    encrypted_key_pem,
    server,
    tls_settings,
    write_pem,
)
from tests.log_lines import LogLines

pytestmark = pytest.mark.real_time(debug=True)

OTHER = "another CA"
OLD_SUITE = "TLS_RSA_WITH_AES_128_CBC_SHA"
BROKEN_HELLO = bytes.fromhex("16030100050100000103")
REFUSED = "TLS handshake failed: the client's certificate is refused: "


def context(certificate: Issued | None = None, trusted: Issued | None = None) -> ssl.SSLContext:
    made = ssl.create_default_context(cadata=(trusted or authority()).pem)
    if certificate is not None:
        path = write_pem(Path(os.environ["TMPDIR"]) / "client.pem", certificate)
        made.load_cert_chain(path)
    return made


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "client").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "client"))


@asynccontextmanager
async def tls_node(directory: Path, **more: str) -> AsyncIterator[tuple[Node, NodeSockets]]:
    given = tls_settings(directory) | {name.replace("_", "."): text for name, text in more.items()}
    settings = {name.replace(".", "_"): text for name, text in given.items()}
    async with listening_node(directory / "data", **settings) as it:
        yield it


@pytest.fixture
async def sockets(tmp_path: Path) -> AsyncIterator[NodeSockets]:
    async with tls_node(tmp_path) as (_, sockets):
        yield sockets


async def connected(
    sockets: NodeSockets, how: ssl.SSLContext | None, host: str = "localhost"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    name = host if how is not None else None
    return await asyncio.open_connection(*sockets.address, ssl=how, server_hostname=name)


async def answer(
    sockets: NodeSockets, how: ssl.SSLContext | None, host: str = "localhost"
) -> bytes:
    """The answer to ApiVersions; empty if the broker closes the connection."""
    try:
        reader, writer = await connected(sockets, how, host)
        writer.write(REQUEST)
        size = await reader.read(4)
        found = size and await reader.readexactly(int.from_bytes(size, "big"))
        writer.close()
    except (ssl.SSLError, ConnectionError):
        return b""
    return found


def shake_hands(address: tuple[str, int], how: ssl.SSLContext, host: str = "localhost") -> None:
    """Fail, with an alert to the broker: asyncio's clients send none."""
    with socket.create_connection(address) as end, pytest.raises(ssl.SSLCertVerificationError):
        how.wrap_socket(end, server_hostname=host)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(0.001)


def principals(sockets: NodeSockets) -> list[str]:
    return [each.info.principal.text for each in sockets._connections]


def reasons(log_lines: LogLines) -> list[str]:
    return [fields["reason"] for _, event, fields in log_lines.lines if "reason" in fields]


async def test_a_request_is_answered_over_tls(sockets: NodeSockets) -> None:
    assert await answer(sockets, context())
    assert len(sockets._handshakes or ()) == 0


@pytest.mark.parametrize("host", HOSTS)
async def test_the_certificate_is_for_each_of_the_hosts(host: str, sockets: NodeSockets) -> None:
    assert await answer(sockets, context(), host)


async def test_a_client_may_refuse_the_brokers_certificate(
    tmp_path: Path, log_lines: LogLines
) -> None:
    async with tls_node(tmp_path) as (_, sockets):
        address = sockets.address
        await asyncio.to_thread(shake_hands, address, context(), "example.org")
        await asyncio.to_thread(shake_hands, address, context(trusted=authority(OTHER)))
        await until(lambda: len(reasons(log_lines)) == 2)
    wrong_host, foreign = reasons(log_lines)
    assert wrong_host.startswith("TLS handshake failed: the client refused the broker's")
    assert foreign == (
        "TLS handshake failed: the client does not trust the CA of the broker's certificate"
    )


@pytest.mark.parametrize("record_bytes", [3, 16_384])
async def test_requests_of_any_size_come_in_pieces_of_any_size(
    record_bytes: int, sockets: NodeSockets
) -> None:
    frame = framed(ApiKey.HEARTBEAT, 0, correlation_id=5, group_id="g" * 9_000, member_id="")
    sent = frame * (1 if record_bytes < 100 else 40)
    reader, writer = await connected(sockets, context())
    for at in range(0, len(sent), record_bytes):
        writer.write(sent[at : at + record_bytes])
    for _ in range(len(sent) // len(frame)):
        assert (await read_frame(reader))[:4] == b"\0\0\0\5"
    writer.close()


async def test_a_large_answer_arrives_whole(tmp_path: Path) -> None:
    async with tls_node(tmp_path) as (node, sockets):
        for number in range(60):
            node.controller.create_topic(f"{'topic' * 40}-{number}", assignments={0: [1]})
        reader, writer = await connected(sockets, context())
        for _ in range(8):
            writer.write(request_frame(ApiKey.METADATA, 12, 1, "test", {"topics": None}))
        for _ in range(8):
            body = read_answer(ApiKey.METADATA, 12, 1, await read_frame(reader))
            assert len(body.topics) == 60
        writer.close()


class RecordedWrites:
    """The socket's transport; notes the size of each write."""

    def __init__(self, raw: asyncio.Transport) -> None:
        self._raw = raw
        self.sizes: list[int] = []

    def write(self, data: bytes) -> None:
        self.sizes.append(len(data))
        self._raw.write(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self._raw, name)


@pytest.mark.parametrize("is_list", [False, True])
async def test_large_data_is_encrypted_and_sent_in_pieces(
    is_list: bool, sockets: NodeSockets
) -> None:
    """Otherwise OpenSSL keeps a buffer as large as the largest answer for each connection."""
    data = os.urandom(1_000_000)
    reader, writer = await connected(sockets, context())
    await until(lambda: len(sockets._connections) == 1)
    (transport,) = (each._transport for each in sockets._connections)
    assert isinstance(transport, TlsTransport)
    await until(lambda: transport._is_open)
    recorded = RecordedWrites(transport._raw)
    transport._raw = cast(asyncio.Transport, recorded)
    if is_list:
        transport.writelines([data[:10], memoryview(data)[10:900_000], data[900_000:]])
    else:
        transport.write(data)
    assert await reader.readexactly(len(data)) == data
    assert max(recorded.sizes) < PIECE_BYTES * 1.01
    assert len(recorded.sizes) < len(data) / PIECE_BYTES + 4
    writer.close()


@pytest.mark.parametrize(
    ("auth", "certificate", "principal"),
    [
        ("none", False, "User:ANONYMOUS"),
        ("none", True, "User:ANONYMOUS"),
        ("requested", False, "User:ANONYMOUS"),
        ("requested", True, "User:CN=alice,O=Ottla test certificates"),
        ("required", True, "User:CN=alice,O=Ottla test certificates"),
    ],
)
async def test_the_principal_is_the_subject_of_a_clients_certificate(
    tmp_path: Path, auth: str, certificate: bool, principal: str
) -> None:
    async with tls_node(tmp_path, ssl_client_auth=auth) as (_, sockets):
        reader, writer = await connected(sockets, context(client() if certificate else None))
        writer.write(REQUEST)
        await reader.readexactly(4)
        assert principals(sockets) == [principal]
        writer.close()


async def test_rules_map_the_subject_to_a_name(tmp_path: Path, log_lines: LogLines) -> None:
    rules = "RULE:^CN=(a.*?),.*$/$1/U"
    more = {"ssl_client_auth": "required", "ssl_principal_mapping_rules": rules}
    async with tls_node(tmp_path, **more) as (_, sockets):
        reader, writer = await connected(sockets, context(client()))
        writer.write(REQUEST)
        await reader.readexactly(4)
        assert principals(sockets) == ["User:ALICE"]
        assert not await answer(sockets, context(client("bob")))
        writer.close()
    assert reasons(log_lines)[0].startswith("no rule of ssl.principal.mapping.rules applies")


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        (None, "TLS handshake failed: the client sent no certificate, and ssl.client.auth is"),
        (client("eve", OTHER), REFUSED + "unable to get local issuer certificate"),
        (client("eve", OURS, EXPIRED), REFUSED + "certificate has expired"),
        (client("eve", OURS, NOT_YET_VALID), REFUSED + "certificate is not yet valid"),
    ],
)
async def test_a_client_without_a_good_certificate_is_refused(
    tmp_path: Path, log_lines: LogLines, certificate: Issued | None, reason: str
) -> None:
    async with tls_node(tmp_path, ssl_client_auth="required") as (_, sockets):
        assert not await answer(sockets, context(certificate))
    assert reasons(log_lines)[0].startswith(reason)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (REQUEST, "the client speaks plain text, and this listener has TLS"),
        (b"GET / HTTP/1.1\r\n\r\n", "the client speaks HTTP, and this listener has TLS"),
    ],
)
async def test_plain_text_on_a_tls_port_has_one_clear_line(
    tmp_path: Path, log_lines: LogLines, sent: bytes, reason: str
) -> None:
    async with tls_node(tmp_path) as (_, sockets):
        reader, writer = await connected(sockets, None)
        writer.write(sent)
        await reader.read()
        writer.close()
    assert reasons(log_lines) == [f"TLS handshake failed: {reason}"]


async def test_little_is_received_at_once_while_memory_for_requests_is_scarce(
    sockets: NodeSockets,
) -> None:
    reader, writer = await connected(sockets, context())
    writer.write(REQUEST)
    await reader.readexactly(4)
    (connection,) = sockets._connections
    transport, memory = connection._transport, connection._requests
    assert isinstance(transport, TlsTransport)
    assert len(transport.get_buffer(-1)) == RECEIVED_BYTES
    memory.used_bytes = 120 << 20  # of 224 MiB
    assert len(transport.get_buffer(-1)) == LITTLE_BYTES
    memory.used_bytes = 0
    writer.close()


@pytest.mark.parametrize("is_broken", [False, True])
async def test_closed_connections_free_the_memory_of_tls_without_a_collection(
    tmp_path: Path, is_broken: bool
) -> None:
    def of_brokers() -> int:
        return sum(
            isinstance(each, ssl.SSLObject) and each.server_side for each in gc.get_objects()
        )

    async with tls_node(tmp_path) as (_, sockets):
        gc.collect()
        before = of_brokers()
        gc.disable()
        try:
            for _ in range(5):
                if is_broken:
                    reader, writer = await connected(sockets, None)
                    writer.write(BROKEN_HELLO)
                    await reader.read()
                    writer.close()
                else:
                    assert await answer(sockets, context())
            await until(lambda: not sockets._connections)
            await until(lambda: of_brokers() == before)  # a thread may still end its last step
        finally:
            gc.enable()


async def test_a_connection_without_a_byte_leaves_no_line(
    tmp_path: Path, log_lines: LogLines
) -> None:
    async with tls_node(tmp_path) as (_, sockets):
        _, writer = await connected(sockets, None)
        writer.close()
        await until(lambda: sockets.accepted_count == 1 and sockets.connection_count == 0)
    assert not reasons(log_lines)


async def test_a_new_trust_store_refuses_a_client_of_the_old_one(tmp_path: Path) -> None:
    async with tls_node(tmp_path, ssl_client_auth="required") as (_, sockets):
        assert await answer(sockets, context(client()))
        (tmp_path / "ca.pem").write_text(authority(OTHER).pem)
        assert not await answer(sockets, context(client()))
        assert await answer(sockets, context(client("bob", OTHER)))


async def test_a_half_written_store_changes_nothing(tmp_path: Path, log_lines: LogLines) -> None:
    async with tls_node(tmp_path) as (_, sockets):
        text = (tmp_path / "server.pem").read_text()
        (tmp_path / "server.pem").write_text(text[:100])
        assert await answer(sockets, context())
        (tmp_path / "server.pem").unlink()
        assert await answer(sockets, context())
        (tmp_path / "server.pem").write_text(text)
        assert await answer(sockets, context())
    half, missing = reasons(log_lines)
    assert half == f"{tmp_path}/server.pem: it has no private key in PEM"
    assert missing == f"cannot read {tmp_path}/server.pem: No such file or directory"


async def test_a_dynamic_setting_of_the_listener_is_used_at_once(tmp_path: Path) -> None:
    async with tls_node(tmp_path, ssl_client_auth="required") as (node, sockets):
        (tmp_path / "new.pem").write_text(authority(OTHER).pem)
        name = "listener.name.ssl.ssl.truststore.location"
        node.controller.set_configs(ResourceType.BROKER, "1", {name: str(tmp_path / "new.pem")})
        assert not await answer(sockets, context(client()))
        assert await answer(sockets, context(client("bob", OTHER)))
        with pytest.raises(Refused, match="cannot read /no/such") as refused:
            check(node, ResourceType.BROKER, "1", {name: "/no/such"})
        assert refused.value.code == Code.INVALID_REQUEST
        node.controller.set_configs(ResourceType.BROKER, "1", {name: None})
        assert await answer(sockets, context(client()))


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
async def test_stores_of_java_serve_as_well(tmp_path: Path, kind: str) -> None:
    secret = "secret"
    keys = (KeyEntry("server", server().key_der, (server().der, authority().der)),)
    stores = {
        "JKS": (
            write_jks(JksStore(keys, ()), secret, made_ms=1, salts=[bytes(20)]),
            write_jks(JksStore((), (("ca", authority().der),)), secret, made_ms=1, salts=[]),
        ),
        "PKCS12": (
            pkcs12_key_store(server(), authority(), "server", secret),
            pkcs12_trust_store(authority(), "ca", secret),
        ),
    }
    settings = {"ssl_client_auth": "required"}
    for name, data in zip(("keystore", "truststore"), stores[kind], strict=True):
        (tmp_path / name).write_bytes(data)
        settings[f"ssl_{name}_type"] = kind
        settings[f"ssl_{name}_location"] = str(tmp_path / name)
        settings[f"ssl_{name}_password"] = secret
    async with tls_node(tmp_path, **settings) as (_, sockets):
        assert await answer(sockets, context(client()))
        assert not await answer(sockets, context(client("eve", OTHER)))


async def test_keys_and_certificates_may_be_texts(tmp_path: Path) -> None:
    settings = {
        "ssl_client_auth": "required",
        "ssl_keystore_location": "",
        "ssl_truststore_location": "",
        "ssl_keystore_key": encrypted_key_pem(server(), "secret"),
        "ssl_key_password": "secret",
        "ssl_keystore_certificate_chain": server().pem,
        "ssl_truststore_certificates": authority().pem,
    }
    async with tls_node(tmp_path, **settings) as (_, sockets):
        assert await answer(sockets, context(client()))


@pytest.mark.parametrize(
    ("settings", "version", "suite"),
    [
        ({"ssl_enabled_protocols": "TLSv1.2"}, "TLSv1.2", None),
        ({"ssl_enabled_protocols": "TLSv1.3"}, "TLSv1.3", None),
        (
            {"ssl_cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
            "TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
        ({"ssl_cipher_suites": "TLS_AES_256_GCM_SHA384"}, "TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    ],
)
async def test_versions_and_cipher_suites_are_those_of_the_settings(
    tmp_path: Path, settings: dict[str, str], version: str, suite: str | None
) -> None:
    async with tls_node(tmp_path, **settings) as (_, sockets):
        _, writer = await connected(sockets, context())
        found = writer.get_extra_info("ssl_object")
        assert found.version() == version
        assert suite in (None, found.cipher()[0])
        writer.close()


@pytest.mark.parametrize(
    ("settings", "name", "sentence"),
    [
        ({"ssl.keystore.location": ""}, "ssl.keystore.location", "must be set"),
        ({"ssl.keystore.location": "/no/such"}, "ssl.keystore.location", "cannot read /no/such"),
        ({"ssl.keystore.type": "BCFKS"}, "ssl.keystore.type", "one of JKS, PKCS12, PEM"),
        ({"ssl.enabled.protocols": "TLSv1.1"}, "ssl.enabled.protocols", "TLSv1.2, TLSv1.3"),
        ({"ssl.cipher.suites": "RC4"}, "ssl.cipher.suites", "names like TLS_AES_256"),
        ({"ssl.keystore.password": "hush"}, "ssl.keystore.location", "has no ssl.keystore.pass"),
        ({"ssl.principal.mapping.rules": "X"}, "ssl.principal.mapping.rules", "is no rule"),
        (
            {"ssl.enabled.protocols": "TLSv1.3", "ssl.cipher.suites": OLD_SUITE},
            "ssl.enabled.protocols",
            "must have a version",
        ),
    ],
)
def test_a_listener_without_usable_settings_does_not_start(
    tmp_path: Path, settings: dict[str, str], name: str, sentence: str
) -> None:
    from ottla.broker.settings.config import BrokerConfig
    from tests.clocks import LoopClock

    config = BrokerConfig.from_settings({**tls_settings(tmp_path), **settings})
    with pytest.raises(BadSetting) as refused:
        NodeSockets(config, LoopClock())
    assert refused.value.name.endswith(name)
    assert sentence in refused.value.allowed
    assert "hush" not in str(refused.value)


async def test_a_new_certificate_has_the_names_of_the_old_one_unless_others_are_allowed(
    tmp_path: Path,
) -> None:
    name = "listener.name.ssl.ssl.keystore.location"
    other = write_pem(tmp_path / "other.pem", issue(authority(), "other", VALID, hosts=HOSTS))
    fewer = write_pem(tmp_path / "fewer.pem", issue(authority(), "server", VALID, hosts=HOSTS[:1]))
    async with tls_node(tmp_path) as (node, _):
        with pytest.raises(Refused, match="must have the subject of the old one, CN=server"):
            check(node, ResourceType.BROKER, "1", {name: str(other)})
        with pytest.raises(Refused, match="must have all host names of the old one"):
            check(node, ResourceType.BROKER, "1", {name: str(fewer)})
    (tmp_path / "data").rename(tmp_path / "before")
    async with tls_node(tmp_path, ssl_allow_dn_changes="true") as (node, _):
        check(node, ResourceType.BROKER, "1", {name: str(other)})
        with pytest.raises(Refused, match="host names"):
            check(node, ResourceType.BROKER, "1", {name: str(fewer)})
