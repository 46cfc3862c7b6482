"""New certificates while clients are connected: what live and new connections see.

The listener TRUST gets another trust store, KEYS another key store, by IncrementalAlterConfigs and
by new files. Scenarios run one after the other.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from ottla.security.certificates import Issued, issue
from tests.certificates import HOSTS, VALID, authority, client, write_pem
from tests.security.answered import framed
from tests.security.conversations import versions
from tests.wire.client import LENGTH, Connection, error_name, until

from .listeners import FOREIGN, Listeners
from .tls_scenarios import context

_APPLIED_S: Final = 20.0  # Apache Kafka answers before new settings hold


def reloads(listeners: Listeners) -> dict[str, list[str]]:
    """What is seen, step by step."""
    return {"trust store": list(_trust_store(listeners)), "key store": list(_key_store(listeners))}


class _Client:
    """A connection with TLS."""

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext) -> None:
        raw = socket.create_connection(address, 5)
        self._socket = tls.wrap_socket(raw, server_hostname="localhost")

    def asks(self) -> str:
        """Whether a request is answered."""
        try:
            self._socket.sendall(framed(versions(0)))
            size_bytes = LENGTH.unpack(self._read(LENGTH.size))[0]
            self._read(size_bytes)
        except OSError:
            return "closed"
        return "answered"

    def _read(self, size_bytes: int) -> bytes:
        found = b""
        while len(found) < size_bytes:
            part = self._socket.recv(size_bytes - len(found))
            if not part:
                raise ConnectionError
            found += part
        return found

    def sees(self) -> bytes:
        """The broker's certificate."""
        return self._socket.getpeercert(binary_form=True) or b""

    def close(self) -> None:
        self._socket.close()


@contextmanager
def _connected(address: tuple[str, int], certificate: Issued | None) -> Iterator[_Client]:
    with closing(
        _Client(address, context(None if certificate is None else lambda: certificate))
    ) as it:
        yield it


def _new(address: tuple[str, int], certificate: Issued | None) -> str:
    """How a new connection fares."""
    try:
        with _connected(address, certificate) as it:
            return it.asks()
    except OSError:
        return "closed"


def _alter(listeners: Listeners, name: str, value: str | None) -> str:
    """Change a setting of the broker; return the error's name."""
    config = {"name": name, "config_operation": 0 if value is not None else 1, "value": value}
    resource = {"resource_type": 4, "resource_name": "1", "configs": [config]}
    with closing(Connection(listeners.address("PLAINTEXT"))) as connection:
        body = {"resources": [resource], "validate_only": False}
        answer = connection.call("IncrementalAlterConfigs", 1, body)
        return error_name(answer["responses"][0]["error_code"])


def _trust_store(listeners: Listeners) -> Iterator[str]:
    address, file = listeners.address("TRUST"), listeners.trust_store("TRUST")
    setting = "listener.name.trust.ssl.truststore.location"
    ours, foreign = client(), client("eve", FOREIGN)

    def both() -> str:
        return f"ours {_new(address, ours)}, foreign {_new(address, foreign)}"

    other = listeners.directory / "other-ca.pem"
    other.write_text(authority(FOREIGN).pem)
    with _connected(address, ours) as live:
        yield f"at first: {both()}"
        yield f"another trust store: {_alter(listeners, setting, str(other))}"
        yield f"then: {until(both, lambda it: 'foreign answered' in it, limit_s=_APPLIED_S)}"
        yield f"the live connection: {live.asks()}"
        yield f"a missing file: {_alter(listeners, setting, '/nowhere/ca.pem')}"
        yield f"then: {both()}"
        yield f"without a trust store of its own: {_alter(listeners, setting, str(file))}"
        yield f"then: {until(both, lambda it: 'ours answered' in it, limit_s=_APPLIED_S)}"
        file.write_text(authority(FOREIGN).pem + authority().pem)
        yield f"another file under the name, set again: {_alter(listeners, setting, str(file))}"
        yield f"then: {until(both, lambda it: 'foreign answered' in it, limit_s=_APPLIED_S)}"
        yield f"the live connection: {live.asks()}"


def _key_store(listeners: Listeners) -> Iterator[str]:
    address = listeners.address("KEYS")
    setting = "listener.name.keys.ssl.keystore.location"
    made = {
        "a new certificate": issue(authority(), "server", VALID, hosts=HOSTS),
        "another subject": issue(authority(), "another", VALID, hosts=HOSTS),
        "another host": issue(authority(), "server", VALID, hosts=("localhost", "else.example")),
        "fewer hosts": issue(authority(), "server", VALID, hosts=("localhost",)),
    }
    files: dict[str, Path] = {
        name: write_pem(listeners.directory / f"{name.replace(' ', '-')}.pem", each)
        for name, each in made.items()
    }
    files["no key"] = listeners.directory / "no-key.pem"
    files["no key"].write_text(authority().pem)
    foreign = issue(authority(FOREIGN), "server", VALID, hosts=HOSTS)
    last = write_pem(listeners.directory / "another-authority.pem", foreign)

    def certificate() -> bytes:
        with _connected(address, None) as it:
            return it.sees()

    with _connected(address, None) as live:
        for name, file in files.items():
            before = certificate()
            error = _alter(listeners, setting, str(file))
            yield f"{name}: {error}"
            is_new = partial(_is_other, before)
            seen = until(certificate, is_new, limit_s=_APPLIED_S if error == "NONE" else 0.1)
            yield f"{name}: new connections see {'the new one' if is_new(seen) else 'the old one'}"
        yield f"another authority: {_alter(listeners, setting, str(last))}"
        yield f"another authority: new connections are {_new_of(address)}"
        yield f"the live connection: {live.asks()}"


def _new_of(address: tuple[str, int]) -> str:
    """Whether a client that trusts our authority still connects."""
    return until(lambda: _new(address, None), lambda it: it == "closed", limit_s=_APPLIED_S)


def _is_other(before: bytes, now: bytes) -> bool:
    return before != now
