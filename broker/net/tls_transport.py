"""A connection's TLS: between the socket and a `Connection`, which it is the transport of.

Received bytes are decrypted into the buffers that the connection reads into without TLS, and
answers are encrypted as they are written. Handshakes run in threads (`handshakes.py`), because one
takes milliseconds; the socket is not read meanwhile.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Final, cast

from ...protocol.batch import Bytes
from ...protocol.errors import Malformed
from ...security.principal_mapping import NoMatchingRule
from ..clock import Timer
from ..complaints import Complaints
from ..log_output import Log
from ..principals import ANONYMOUS, NODE
from ..settings.tls import TlsSettings
from .connection import Connection
from .handshakes import Handshakes
from .tls_context import ListenerTls
from .tls_failures import explained

RECEIVED_BYTES: Final = 1 << 17
"""The size of the buffer for TLS records; OpenSSL keeps as much for a connection that filled it."""
LITTLE_BYTES: Final = 1 << 14
"""The bytes that are received at once in a handshake, and while memory for requests is scarce."""
PIECE_BYTES: Final = 1 << 16
"""So much is encrypted at once, and sent before the rest: the client decrypts it meanwhile, and
OpenSSL keeps no larger buffer than that for the connection."""
_JOINED_BYTES: Final = 1 << 14  # of pieces that become one TLS record

_NO_BYTES: Final = ssl.MemoryBIO()  # that of lost connections

_log = Log("connection")


class TlsTransport(asyncio.Transport, asyncio.BufferedProtocol):
    """The TLS of one connection.

    Args:
        connection: reads and writes plain bytes.
        tls: of the listener.
        handshakes: runs them.
        received: the buffer that all connections of the event loop are received into.
        complaints: limits the log lines about the client.
    """

    __slots__ = (
        "_complaints", "_connection", "_deadline", "_handshakes", "_incoming", "_is_at_end",
        "_is_closing", "_is_held", "_is_open", "_is_reading", "_object", "_outgoing", "_raw",
        "_received", "_step", "_tls",
    )  # fmt: skip

    def __init__(
        self,
        connection: Connection,
        tls: ListenerTls,
        handshakes: Handshakes,
        received: bytearray,
        complaints: Complaints,
    ) -> None:
        self._connection = connection
        self._tls = tls
        self._handshakes = handshakes
        self._received = received
        self._complaints = complaints
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object: ssl.SSLObject | None = None
        self._step: asyncio.Future[bool] | None = None  # of the handshake; runs in a thread
        self._deadline: Timer | None = None
        self._is_open = False  # the handshake is complete
        self._is_reading = True
        self._is_held = False  # the connection wants no bytes now
        self._is_closing = False
        self._is_at_end = False  # the client has closed its sending side
        self._raw: asyncio.Transport

    # As the protocol of the socket's transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._raw = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self._deadline = self._handshakes.began(self)
        self._connection.connection_made(self)

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:
        if self._is_open and not self._connection.reads_little:
            return self._received
        # What is received stays in memory while the connection wants no bytes.
        return memoryview(self._received)[:LITTLE_BYTES]

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_closing:
            return
        with memoryview(self._received) as received:
            if not self._is_open:
                self._advance(bytes(received[:nbytes]))
                return
            self._incoming.write(received[:nbytes])
        self._pass_on()

    def eof_received(self) -> bool:
        if not self._is_open:
            if self._step is None:
                self.close()
            self._is_at_end = True
            return True  # the last bytes may be the reason
        return bool(self._connection.eof_received())

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        self._end_handshake()
        self._connection.connection_lost(exc)
        if self._step is None:
            self._let_go()

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    # As the transport of the connection.

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self._object if name == "ssl_object" else self._raw.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._is_closing or self._raw.is_closing()

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        if self._is_open and self._object is not None:
            with suppress(ssl.SSLError):  # after close_notify, which it has written, it would wait
                self._object.unwrap()
            self._flush()
        self._raw.close()

    def abort(self) -> None:
        self._is_closing = True
        self._raw.abort()

    def pause_reading(self) -> None:
        self._is_held = True
        self._read_or_not()

    def resume_reading(self) -> None:
        self._is_held = False
        self._read_or_not()
        if self._is_open:
            asyncio.get_running_loop().call_soon(self._pass_on)

    def is_reading(self) -> bool:
        return self._is_reading

    def get_write_buffer_size(self) -> int:
        return self._raw.get_write_buffer_size()

    def write(self, data: Bytes) -> None:
        if self._is_closing or self._object is None:
            return
        try:
            self._encrypt(data)
        except ssl.SSLError as failed:
            self._fail(failed)
            return
        self._flush()

    def writelines(self, list_of_data: Iterable[Bytes]) -> None:
        if self._is_closing or self._object is None:
            return
        small: list[Bytes] = []
        small_bytes = 0
        try:
            for piece in list_of_data:
                size_bytes = len(piece)
                if small_bytes + size_bytes > _JOINED_BYTES and small:
                    self._encrypt(b"".join(small))
                    small, small_bytes = [], 0
                if size_bytes > _JOINED_BYTES:
                    self._encrypt(piece)
                else:
                    small.append(piece)
                    small_bytes += size_bytes
            if small:
                self._encrypt(b"".join(small))
        except ssl.SSLError as failed:
            self._fail(failed)
            return
        self._flush()

    def give_up(self, why: str) -> None:
        """End an unfinished handshake."""
        if not self._is_open and not self._is_closing:
            self._fail(OSError(why))

    def _encrypt(self, data: Bytes) -> None:
        assert self._object is not None
        size_bytes = len(data)
        written = self._object.write(data) if size_bytes <= PIECE_BYTES else 0
        if written < size_bytes:
            with memoryview(data) as view:
                while written < size_bytes:
                    written += self._object.write(view[written : written + PIECE_BYTES])
                    self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._raw.write(self._outgoing.read())

    def _read_or_not(self) -> None:
        """Read the socket, unless the connection wants no bytes or a thread uses the last ones."""
        wanted = not self._is_held and self._step is None
        if wanted is self._is_reading or self._raw.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            self._raw.resume_reading()
        else:
            self._raw.pause_reading()

    def _advance(self, received: bytes) -> None:
        """Begin a step of the handshake in a thread."""
        step = partial(self._handshake, received, self._tls.settings())
        self._step = self._handshakes.run(step)
        self._read_or_not()
        self._step.add_done_callback(self._end_step)

    def _handshake(self, received: bytes, settings: TlsSettings) -> bool:
        """Do one step; runs in a thread. Return whether the handshake is complete."""
        if self._object is None:
            context = self._tls.context(settings)
            made = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
            self._object = made
        self._incoming.write(received)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def _end_step(self, step: asyncio.Future[bool]) -> None:
        self._step = None
        failure = None if step.cancelled() else step.exception()
        if self._is_closing or step.cancelled():
            self._let_go()
            return
        self._flush()  # an alert says why it failed
        if failure is not None:
            self._fail(failure)
        elif self._is_at_end:
            self.close()
        elif step.result():
            self._complete_handshake()
        else:
            self._read_or_not()

    def _complete_handshake(self) -> None:
        assert self._object is not None
        self._end_handshake()
        info = self._connection.info
        try:
            if info.is_authenticated and info.principal is ANONYMOUS:
                info.principal = self._tls.principal_of(self._object)
        except (NoMatchingRule, Malformed) as wrong:
            self._fail(wrong)
            return
        forbidden = self._tls.forbids(self._object)
        # A node cannot choose among the suites of TLS 1.3: Python's `ssl` has no function for it.
        if forbidden is not None and info.principal is not NODE:
            self._fail(OSError(f"ssl.cipher.suites does not have {forbidden}"))
            return
        self._is_open = True
        self._read_or_not()
        self._pass_on()

    def _let_go(self) -> None:
        """Free the memory of TLS now: in a cycle it would wait for a collection of garbage."""
        self._object = None
        self._incoming, self._outgoing = _NO_BYTES, _NO_BYTES

    def _end_handshake(self) -> None:
        self._handshakes.ended(self)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _pass_on(self) -> None:
        """Decrypt what was received and pass it to the connection."""
        if self._object is None:  # the connection is lost
            return
        connection, read, is_more = self._connection, self._object.read, True
        while is_more and not self._is_held and not self._is_closing:
            filled, room = 0, memoryview(connection.get_buffer(-1))
            size_bytes = len(room)
            failure: ssl.SSLError | None = None
            try:
                while filled < size_bytes:
                    filled += cast(int, read(size_bytes - filled, room[filled:])) or _at_end()
            except ssl.SSLWantReadError:
                is_more = False
            except ssl.SSLError as failed:
                failure, is_more = failed, False
            room.release()  # a view of the buffer would keep it from being used again
            if filled:
                connection.buffer_updated(filled)
            if failure is not None and not self._is_closing:
                if isinstance(failure, ssl.SSLZeroReturnError):
                    connection.eof_received()
                else:
                    self._fail(failure)
            failure = None  # its traceback has this frame, which would be a cycle
        if not self._is_closing:
            self._flush()  # answers of TLS itself, as to a new key

    def _fail(self, failure: BaseException) -> None:
        kind, why = explained(failure)
        if self._connection.is_opened:
            info = self._connection.info
            if self._complaints.may_log(info.host, f"TLS: {kind}"):
                _log.warning("connection closed", connection=info.id,
                             listener=info.listener.name, reason=why)  # fmt: skip
        self._is_closing = True
        self._end_handshake()
        self._raw.close()


def _at_end() -> int:
    raise ssl.SSLZeroReturnError("the client has closed its sending side")
