"""Raw requests over a blocking socket, one at a time; bodies are plain dicts.

kafka-python's codec encodes the requests. Errors have their names. Every answer of a broker is a
result and no exception; only `Closed` and `NoAnswer` are raised.
"""

from __future__ import annotations

import random
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from ottla.protocol.errors import Code
from tests.library_classes import library_class

T = TypeVar("T")
Body = Mapping[str, Any]
Answer = dict[str, Any]
Address = tuple[str, int]

LENGTH = struct.Struct(">i")
ANSWER_TIMEOUT_S = 8.0

APIS: dict[str, tuple[Any, Any]] = {}
"""Request and response class of each API with a schema, by the API's name."""

for _key in ApiKey:
    with suppress(FileNotFoundError):
        APIS[api_name(_key)] = library_class(_key, "Request"), library_class(_key, "Response")

KNOWN_CODES = frozenset(int(code) for code in Code)

TRANSIENT = frozenset(
    {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "CONCURRENT_TRANSACTIONS",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "UNKNOWN_LEADER_EPOCH",
    }
)


class Closed(Exception):
    """The broker closed the connection."""


class NoAnswer(Exception):
    """Nothing arrived within the time limit."""


def error_name(code: int) -> str:
    """Kafka's name of an error code."""
    return Code(code).name if code in KNOWN_CODES else f"E{code}"


def retrying(
    ask: Callable[[], T],
    codes: Callable[[T], Iterable[str]] = lambda answer: [str(answer)],
    *,
    limit_s: float = 6.0,
    transient: frozenset[str] = TRANSIENT,
) -> T:
    """Repeat a request until no error name in the answer is transient, or the time is over."""
    end = time.monotonic() + limit_s
    while True:
        answer = ask()
        if not (set(codes(answer)) & transient) or time.monotonic() > end:
            return answer
        time.sleep(0.02)


def until(
    ask: Callable[[], T],
    wanted: Callable[[T], bool],
    *,
    limit_s: float = 10.0,
    every_s: float = 0.02,
) -> T:
    """Repeat until the answer is the wanted one; the last answer after the time limit."""
    end = time.monotonic() + limit_s
    while True:
        answer = ask()
        if wanted(answer) or time.monotonic() > end:
            return answer
        time.sleep(every_s)


def _field_value(field: Any, value: Any, version: int) -> Any:
    """Convert dicts to the data classes of their fields, recursively."""
    if field.is_struct_array() and value is not None:
        return [_struct(field.array_of, item, version) for item in value]
    if field.is_struct():
        return _struct(field, value, version)
    return value


def _struct(field: Any, value: Any, version: int) -> Any:
    if not isinstance(value, Mapping):
        return value
    fields = {name: _field_value(field.fields[name], v, version) for name, v in value.items()}
    return field.data_class(version=version, **fields)


def _plain(value: Any) -> Any:
    """A response as dicts, lists and scalars."""
    if hasattr(value, "_struct"):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in value._struct._fields
            if value._version is None or field.for_version_q(value._version)
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value


def encode(
    api: str, version: int, body: Body, *, correlation_id: int, client_id: str | None = "wire"
) -> bytes:
    """A complete frame, preceded by its length."""
    request = _request(api, version, body)
    request.with_header(correlation_id=correlation_id, client_id=client_id)
    return bytes(request.encode(header=True, framed=True))


def encode_body(api: str, version: int, body: Body) -> bytes:
    """A request without length and header."""
    return bytes(_request(api, version, body).encode(header=False, framed=False))


def _request(api: str, version: int, body: Body) -> Any:
    request_class = APIS[api][0]
    schema = request_class._struct.fields
    fields = {name: _field_value(schema[name], value, version) for name, value in body.items()}
    return request_class(version=version, **fields)


def decode(api: str, version: int, frame: bytes, *, header: bool = True) -> Answer:
    """Decode the answer of a frame (without its length) to plain dicts."""
    answer: Answer = _plain(APIS[api][1].decode(frame, version=version, header=header))
    return answer


class Connection:
    """One socket to a broker; `call` waits for each answer before the next request.

    Args:
        source: the host that it comes from; None: the system chooses.
    """

    def __init__(
        self, address: Address, timeout_s: float = ANSWER_TIMEOUT_S, source: str | None = None
    ) -> None:
        source_address = None if source is None else (source, 0)
        self._socket = socket.create_connection(address, timeout_s, source_address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._timeout_s = timeout_s
        self._correlation_id = random.randrange(1, 1 << 20)

    def fileno(self) -> int:
        """The socket's number, for select."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def send_raw(self, data: bytes) -> None:
        """Send bytes unchanged."""
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None

    def _read(self, size: int) -> bytes:
        out = bytearray()
        while len(out) < size:
            try:
                chunk = self._socket.recv(min(1 << 20, size - len(out)))
            except ConnectionResetError:
                raise Closed from None
            except TimeoutError:
                raise NoAnswer from None
            if not chunk:
                raise Closed
            out += chunk
        return bytes(out)

    def frame(self, timeout_s: float | None = None) -> bytes:
        """The next frame, without its length."""
        self._socket.settimeout(timeout_s or self._timeout_s)
        (size,) = LENGTH.unpack(self._read(LENGTH.size))
        return self._read(size)

    def send(self, api: str, version: int, body: Body | None = None) -> int:
        """Send a request and return its correlation id."""
        self._correlation_id += 1
        data = encode(api, version, body or {}, correlation_id=self._correlation_id)
        self.send_raw(data)
        return self._correlation_id

    def receive(self, api: str, version: int, timeout_s: float | None = None) -> tuple[int, Answer]:
        """Correlation id and content of the next answer."""
        frame = self.frame(timeout_s)
        return LENGTH.unpack_from(frame)[0], decode(api, version, frame)

    def call(
        self, api: str, version: int, body: Body | None = None, timeout_s: float | None = None
    ) -> Answer:
        """Send a request and return its answer."""
        sent = self.send(api, version, body)
        answered, answer = self.receive(api, version, timeout_s)
        assert answered == sent, f"correlation id {sent} answered as {answered}"
        return answer


def header(
    api_key: int,
    version: int,
    *,
    correlation_id: int = 7,
    client_id: bytes | None = b"wire",
    flexible: bool = False,
) -> bytes:
    """A request header in bytes; a flexible header ends with an empty tag section."""
    out = struct.pack(">hhi", api_key, version, correlation_id)
    out += struct.pack(">h", -1 if client_id is None else len(client_id)) + (client_id or b"")
    return out + (b"\0" if flexible else b"")


def framed(data: bytes) -> bytes:
    """Bytes preceded by their length."""
    return LENGTH.pack(len(data)) + data
