"""`ottla health`: asks a broker for its API versions, then for its nodes and topics.

Bodies are read by hand, because the codec takes longer to import than all others; a login imports
it. The exit status depends on the login and the first answer alone.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

from ..client.connection import Connection
from ..client.core import NO_KAFKA
from ..client.security import UNSECURED, ClientSecurity
from ..console.options import (
    DEFAULT_LISTEN,
    HEALTH_OPTIONS,
    CannotRun,
    add_options,
    address,
    new_parser,
)
from ..console.security import command_security

# ApiVersions (key 18) version 0, correlation id 7, no client id.
_REQUEST = struct.pack(">ihhih", 10, 18, 0, 7, -1)
# Metadata (key 3) version 2 of all topics, correlation id 8, no client id.
_METADATA = struct.pack(">ihhihi", 14, 3, 2, 8, -1, -1)
_TIMEOUT_S = 3.0


class ProbedCluster(NamedTuple):
    """A broker's answer to Metadata; `topics` is without internal ones."""

    cluster_id: str | None
    controller_id: int
    nodes: list[tuple[int, str, int]]
    topics: int
    partitions: int


def answers(host: str, port: int, *, timeout_s: float = _TIMEOUT_S) -> str | None:
    """None if the broker answers ApiVersions without an error, else the reason."""
    return examined(host, port, timeout_s=timeout_s, with_cluster=False)[0]


def examined(
    host: str,
    port: int,
    *,
    timeout_s: float = _TIMEOUT_S,
    with_cluster: bool = True,
    security: ClientSecurity | None = None,
) -> tuple[str | None, ProbedCluster | None]:
    """The reason why a broker is not healthy, or None; its cluster, or None if it names none."""
    try:
        with closing(_connected((host, port), timeout_s, security)) as connection:
            try:
                answered, error_code = struct.unpack_from(">ih", connection.exchange(_REQUEST))
            except struct.error:
                answered = 0
            if answered != 7:
                return NO_KAFKA, None
            if error_code:
                from ..protocol.errors import code_name

                return f"it answers with {code_name(error_code)}", None
            return None, _cluster(connection) if with_cluster else None
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__, None


def _connected(
    address: tuple[str, int], timeout_s: float, security: ClientSecurity | None
) -> Connection:
    """A new connection, after TLS and login if it has a security. Raises OSError."""
    return Connection.open(
        address, timeout_s=timeout_s, security=security or UNSECURED, client_id="ottla"
    )


def health(words: Sequence[str]) -> int:
    """Print the health of the first broker that answers; return the exit status.

    Raises:
        CannotRun: an address or the security is wrong. SystemExit: an option is wrong.
    """
    parser = new_parser("health")
    add_options(parser, HEALTH_OPTIONS)
    parser.add_argument("address", nargs="?", metavar="HOST:PORT,...")
    given = parser.parse_args(words)
    if given.address and given.bootstrap:
        raise CannotRun("health: HOST:PORT is given twice, also by --bootstrap")
    if given.here:
        if given.address or given.bootstrap:
            raise CannotRun(
                "health: --here takes no HOST:PORT: it asks the broker where it listens"
            )
        from ..broker.health_socket import name_here

        return health_of(name_here(), as_json=given.as_json)
    default = os.environ.get("OTTLA_BOOTSTRAP") or DEFAULT_LISTEN
    places = [each.strip() for each in (given.address or given.bootstrap or default).split(",")]
    known = [address(each) for each in places]
    security = command_security()
    failures = []
    for place, (host, port) in zip(places, known, strict=True):
        trouble, cluster = examined(host, port, security=security)
        if trouble is None:
            _show(place, cluster, as_json=given.as_json)
            return 0
        failures.append(f"{place}: {trouble}")
    if given.as_json:
        _print_json({"healthy": False, "trouble": "; ".join(failures)})
    from ..protocol.shown_text import shown

    sys.stderr.write(f"ottla: {shown('; '.join(failures))}\n")
    return 1


def health_of(name: str, *, as_json: bool) -> int:
    """Ask the broker of a container by its socket; print and return as `health` does.

    Args:
        name: of the socket (broker/health_socket.py).
        as_json: print JSON.
    """
    import json
    import socket

    from ..broker.health_socket import address_of

    try:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(_TIMEOUT_S)
            asking.connect(address_of(name))
            with asking.makefile() as answer:
                found = json.loads(answer.read())
    except (OSError, ValueError):
        found = {"status": "failing", "reasons": ["no broker of this container answers"]}
    is_healthy = found["status"] == "ok"
    trouble = "; ".join(found["reasons"])
    if as_json:
        nodes = {"nodes": found.get("nodes", [])} if is_healthy else {"trouble": trouble}
        _print_json({"healthy": is_healthy, **nodes})
    elif is_healthy:
        places = ", ".join(f"{each['host']}:{each['port']}" for each in found["nodes"])
        sys.stdout.write(f"{places or 'the controller'} is healthy\n")
    if not is_healthy:
        sys.stderr.write(f"ottla: {trouble}\n")
    return 0 if is_healthy else 1


def _show(place: str, cluster: ProbedCluster | None, *, as_json: bool) -> None:
    if as_json:
        found: dict[str, Any] = {"healthy": True, "address": place}
        if cluster is not None:
            found |= cluster._asdict()
            found["nodes"] = [
                {"node_id": node_id, "host": host, "port": port}
                for node_id, host, port in cluster.nodes
            ]
        _print_json(found)
        return
    text = f"{place} is healthy"
    if cluster is not None:
        nodes = ", ".join(f"{node_id} at {host}:{port}" for node_id, host, port in cluster.nodes)
        text += (
            f": cluster {cluster.cluster_id}, {_counted(len(cluster.nodes), 'node')} ({nodes}),"
            f" {_counted(cluster.topics, 'topic')}, {_counted(cluster.partitions, 'partition')}"
        )
    from ..protocol.shown_text import shown

    sys.stdout.write(shown(text) + "\n")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_json(value: object) -> None:
    import json

    sys.stdout.write(json.dumps(value) + "\n")


def _cluster(connection: Connection) -> ProbedCluster | None:
    try:
        return _read_cluster(_Reader(connection.exchange(_METADATA), 4))
    except (OSError, ValueError, struct.error):
        return None


class _Reader:
    """Reads the fields of an answer one after the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def number(self, code: str) -> int:
        (value,) = struct.unpack_from(f">{code}", self._data, self._at)
        self._at += struct.calcsize(code)
        return int(value)

    def text(self) -> str | None:
        size = self.number("h")
        if size < 0:
            return None
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def skip_numbers(self) -> None:
        count = self.number("i")
        self._at += 4 * count


def _read_cluster(answer: _Reader) -> ProbedCluster:
    nodes = []
    for _ in range(answer.number("i")):
        node_id, host, port = answer.number("i"), answer.text() or "", answer.number("i")
        answer.text()  # rack
        nodes.append((node_id, host, port))
    cluster_id, controller_id = answer.text(), answer.number("i")
    topics = partitions = 0
    for _ in range(answer.number("i")):
        answer.number("h")
        answer.text()
        is_internal = answer.number("b")
        count = answer.number("i")
        for _ in range(count):
            answer.number("h")
            answer.number("q")  # index and leader
            answer.skip_numbers()
            answer.skip_numbers()
        if not is_internal:
            topics += 1
            partitions += count
    return ProbedCluster(cluster_id, controller_id, nodes, topics, partitions)
