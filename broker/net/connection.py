"""A client's connection: splits bytes into frames, passes them to dispatch, sends the answers.

It handles one request at a time, as in Kafka, and reads later ones meanwhile, up to a limit.
Answers are sent in the order of the requests. `fair_turns.py` schedules the connections in slices;
the answers of a slice are sent in one write. This file contains no rules of the Kafka protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

from ...protocol.api_keys import ApiKey
from ...protocol.batch import Bytes
from ...protocol.errors import Malformed
from ...protocol.frames import BadLength, Frames, ReceiveBuffers, Room
from ...protocol.named_tuple import NamedTuple
from ..clock import Clock, Timer
from ..complaints import Complaints
from ..log_output import Log
from ..principals import NODE
from ..requests.context import ConnectionInfo, Context, DelayedClose, Disconnect
from ..requests.dispatch import Answer, Dispatch
from ..settings.listeners import ServedListener
from .connection_state import MAY_FOLLOW, State
from .fair_turns import FairTurns
from .held_memory import SMALL_BYTES, AnswerMemory, RequestMemory
from .outgoing import Outgoing, is_in_memory
from .refused_frames import explain, fields_of

if TYPE_CHECKING:
    from .logins import Login, Logins

_BACKLOG_BYTES: Final = 1 << 20  # of requests that wait behind another; beyond it, reading stops
_WRITE_BYTES: Final = 1 << 16  # of answers that are gathered for one write
_CHUNK_BYTES: Final = 1 << 19
_HASTENING: Final = (ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH)
_ENDING: Final = State.ENDING

_log = Log("connection")


class Shared(NamedTuple):
    """The objects that all connections of a node share.

    Attributes:
        turns: schedules the connections.
        buffers: what the sockets are read into.
        requests, answers: count the memory that each connection holds for them.
        complaints: limits the log lines about clients.
        clock: the time.
        chunk_bytes: so much of an answer is read from files at a time.
    """

    turns: FairTurns
    buffers: ReceiveBuffers
    requests: RequestMemory
    answers: AnswerMemory
    complaints: Complaints
    clock: Clock
    chunk_bytes: int = _CHUNK_BYTES


class Connection(asyncio.BufferedProtocol):
    """A client's connection.

    Args:
        dispatch: answers one frame.
        shared: the objects shared with the node's other connections.
        size_limit_bytes: socket.request.max.bytes.
        number: the number of the connection in its node, for the connection id.
        listener: the listener that it was accepted by.
        on_opened: called with this connection once it has its `info`.
        on_closed: called once with this connection, when it is closed.
        nodes: addresses, HOST:PORT, from which other nodes of this process are connecting; each
            counts for one connection, as another program may have the address later.
        logins: of the listener, if its clients log in by SASL.
    """

    # Without slots a connection takes 1.4 KB more: Python shares the keys of at most 30 attributes.
    __slots__ = (
        "_ahead", "_answers", "_busy", "_busy_bytes", "_chunk_bytes", "_clock", "_complaints",
        "_context", "_counts", "_dispatch", "_end", "_frames", "_holds", "_listener", "_logins",
        "_muted", "_nodes", "_now_s", "_number", "_on_closed", "_on_opened", "_outgoing",
        "_reading", "_requests", "_state", "_transport", "_turns", "_used_s", "_writable",
        "get_buffer", "info",
    )  # fmt: skip

    get_buffer: Room  # of its frames

    def __init__(
        self,
        dispatch: Dispatch,
        shared: Shared,
        *,
        size_limit_bytes: int,
        number: int,
        listener: ServedListener,
        on_closed: Callable[[Connection], None],
        on_opened: Callable[[Connection], None] | None = None,
        nodes: set[str] | None = None,
        logins: Logins | None = None,
    ) -> None:
        self._dispatch: Dispatch | Login = dispatch
        self._logins = logins
        self._turns, self._requests, self._answers = shared.turns, shared.requests, shared.answers
        self._complaints, self._clock = shared.complaints, shared.clock
        self._chunk_bytes = shared.chunk_bytes
        self._now_s = shared.clock.monotonic_s
        self._counts = [False, False]  # whether its memory for requests, for answers is counted
        self._frames = Frames(shared.buffers, size_limit_bytes=size_limit_bytes)
        self.get_buffer = self._frames.room
        self._number = number
        self._listener = listener
        self._on_closed = on_closed
        self._on_opened = on_opened
        self._used_s = 0.0
        self._nodes = set() if nodes is None else nodes
        self._ahead: memoryview | None = None  # the request that is served next
        self._outgoing: Outgoing | None = None  # the answer that is being sent
        self._busy: asyncio.Future[Answer] | None = None
        self._busy_bytes = 0
        self._context: Context | None = None
        self._reading = True
        self._holds = 0  # the number of `hold` calls without `release`
        self._end: Malformed | None = None  # closes it once all earlier requests are answered
        self._writable = True
        self._muted: Timer | None = None  # runs while it is throttled by a quota
        self._state = State.ACCEPTED
        self._transport: asyncio.Transport
        self.info: ConnectionInfo

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        if self._state is State.ABANDONED:  # drained between accept and this call
            self._enter(_ENDING)
            self._transport.close()
            return
        self._enter(State.OPEN)
        here, there = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        local, peer = f"{here[0]}:{here[1]}", f"{there[0]}:{there[1]}"
        self.info = ConnectionInfo(f"{local}-{peer}-{self._number}", peer, there[0], self._listener)
        self.info.complaints = self._complaints
        if peer in self._nodes:
            self._nodes.discard(peer)
            self.info.principal, self.info.is_authenticated = NODE, True
        elif self._logins is not None:
            self._dispatch = self._logins.begin(
                self._dispatch, self._frames.limit, self._serve_directly
            )
        refusal_ms = self._dispatch.refusal_ms(there[0])
        if refusal_ms > 0:
            self._enter(_ENDING)
            self._mute(refusal_ms, self._transport.close)
        self._used_s = self._now_s()
        if self._on_opened is not None:
            self._on_opened(self)

    @property
    def is_opened(self) -> bool:
        """Whether it has its `info`."""
        return hasattr(self, "info")

    @property
    def descriptor(self) -> int:
        """The socket's file descriptor, the lowest that was free; -1 if there is no socket."""
        bound = self._transport.get_extra_info("socket")
        return -1 if bound is None else int(bound.fileno())

    def serve_by(self, dispatch: Dispatch) -> None:
        """Let another dispatch answer the requests from now on."""
        self._dispatch = self._dispatch.replaced_by(dispatch)

    def _serve_directly(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch

    def hold(self) -> None:
        """Read nothing until `release`."""
        self._holds += 1
        self._pause()

    def release(self) -> None:
        """Read again."""
        self._holds -= 1
        self._read_on()

    def is_login_overdue(self, seconds: float) -> bool:
        """Whether the client has not logged in for this time since it connected."""
        return self._logins is not None and self._dispatch.is_overdue(self._now_s() - seconds)

    @property
    def is_receiving(self) -> bool:
        """Whether it holds part of a request and waits for the rest."""
        return self._busy is None and self._ahead is None and not self._frames.is_empty

    @property
    def reads_little(self) -> bool:
        """Whether memory for requests is so scarce that bytes should wait in the socket."""
        return self._requests.is_scarce

    @property
    def unsent_bytes(self) -> int:
        """The bytes of answers in memory that the socket has not taken yet."""
        unsent = self._transport.get_write_buffer_size()
        return unsent if self._outgoing is None else unsent + self._outgoing.held_bytes

    def give_up(self, why: str) -> None:
        """Close it now and log the reason."""
        self._abort(OSError(why))
        self._transport.abort()

    @property
    def is_ending(self) -> bool:
        """Whether it is closing and serves no further requests."""
        return self._state in (_ENDING, State.ABANDONED)

    def is_idle_since(self, seconds: float) -> bool:
        """Whether it had neither a request nor an answer for this time."""
        return self._busy is None and self._now_s() - self._used_s >= seconds

    def end(self) -> None:
        """Close it once all written bytes are sent; at once if the client does not read them."""
        self._enter(_ENDING)
        self._outgoing = None
        if self._writable:
            self._transport.close()
        else:
            self._transport.abort()

    def buffer_updated(self, nbytes: int) -> None:
        if self._state is _ENDING:
            return
        self._used_s = self._now_s()
        frames = self._frames
        frames.received(nbytes)
        if nbytes >= SMALL_BYTES // 2:
            self._turns.received(self, nbytes)
        if self._busy is None:
            self._turns.take(self)
        else:
            self._hasten()
        if self._ahead is not None:
            self._ahead = frames.kept(self._ahead)
        if frames.is_empty:
            if not self._counts[0]:
                return
        else:
            frames.settle()
        self._count_requests()
        if not self._reading:
            return
        if frames.unread_bytes > _BACKLOG_BYTES and self._look_ahead():
            self._pause()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._used_s = self._now_s()
        if self._counts[1]:
            self._counts[1] = self._answers.holds(self, 0)
        self._resume()

    def eof_received(self) -> bool:
        """The client has closed its sending side: serve its earlier requests, then close."""
        if self._state is State.OPEN:
            self._enter(State.AT_END)
        self._reading = False
        self._end_wait(is_stopping=False)
        if not self._has_work():
            self._turns.end(self._read_on)
        return True

    def _has_work(self) -> bool:
        if self._state is _ENDING:
            return self._outgoing is not None
        return self._busy is not None or self._outgoing is not None or self._look_ahead()

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter(_ENDING)
        self._drop_requests()
        self._turns.forget(self)
        self._requests.lost(self)
        self._answers.holds(self, 0)
        self._outgoing = None
        if self._muted is not None:
            self._muted.cancel()
        if self._busy is not None:
            self._busy.cancel()
        if self.is_opened and self.info.on_lost is not None:
            self.info.on_lost(self.info.id)
        self._on_closed(self)

    def drain(self) -> None:
        """Take no new requests; answer the current one, at once if it is a waiting Fetch."""
        if self._abandon():
            return
        self._enter(_ENDING)
        self._drop_requests()
        if self._busy is None:
            self._close_when_sent()
        else:
            self._end_wait(is_stopping=True)

    def _abandon(self) -> bool:
        """End it as soon as it has its transport; return False if it has one."""
        if self._state in (State.ACCEPTED, State.ABANDONED):
            self._enter(State.ABANDONED)
        return self._state is State.ABANDONED

    def _enter(self, state: State) -> None:
        """Change the state; `MAY_FOLLOW` has the possible changes."""
        assert self._state in MAY_FOLLOW[state], (self._state, state)
        self._state = state

    def _end_wait(self, *, is_stopping: bool) -> None:
        """Answer a waiting request at once, or end it, if it can be."""
        context = self._context
        if context is None:
            return
        on_end = getattr(context, "on_end", None)
        if on_end is not None:
            on_end(is_stopping)
        elif context.hasten is not None:
            context.hasten()

    def cut(self) -> None:
        """Close it now, without an answer to the current request."""
        if self._abandon():
            return
        self._enter(_ENDING)
        self._outgoing = None
        self._drop_requests()
        self._transport.abort()

    def serve(self, until_s: float) -> bool:
        """Handle received requests until one waits, the socket is full, or the time is up.

        Returns:
            whether there is more to do at once.
        """
        is_more = False
        while self._outgoing is None or self._send_on(until_s):
            is_more = self._serve_requests(until_s)
            if self._outgoing is None:
                break
        if self._counts[0]:
            self._count_requests()
        if not self._reading:
            self._read_on()
        return is_more or (self._outgoing is not None and self._writable)

    def _serve_requests(self, until_s: float) -> bool:
        """Handle requests; return whether the time was up before all were handled."""
        answers: list[Bytes] = []
        gathered_bytes, is_first, frames = 0, True, self._frames
        while self._may_serve() and self._look_ahead():
            if is_first:
                is_first = False
            elif self._turns.now_s() >= until_s:
                self._write(answers)
                return True
            frame, self._ahead = self._ahead, None
            assert frame is not None
            try:
                context, reply = self._dispatch.serve(frame, self.info)
            except DelayedClose as failed:
                self._write(answers)
                self._close_after(failed)
                return False
            except (Malformed, Disconnect) as reason:
                self._write(answers)
                self._abort(reason, **fields_of(frame))
                return False
            if isinstance(reply, bytearray):
                answers.append(reply)
                gathered_bytes += len(reply)
            elif reply is None:
                pass
            elif isinstance(reply, asyncio.Future):
                self._busy, self._context = reply, context
                self._busy_bytes = len(frame)
                self._counts[0] = self._counts[0] or len(frame) > SMALL_BYTES
                reply.add_done_callback(self._ended)
                context.on_answer = self._answered
                self._hasten()
            elif is_in_memory(reply):  # may be large: write it before the next request
                answers += reply
                gathered_bytes = _WRITE_BYTES
            else:
                self._outgoing = Outgoing([*answers, *reply])
                answers = []
            if gathered_bytes >= _WRITE_BYTES:
                self._write(answers)
                answers, gathered_bytes = [], 0
            if context.throttle_time_ms and self._busy is None:
                self._mute(context.throttle_time_ms, self._unmute)
            if frames.is_empty and self._ahead is None:
                break
        if answers:
            self._write(answers)
        return False

    def _send_on(self, until_s: float) -> bool:
        """Send as much of the answer as the socket takes now; return whether all of it is sent."""
        assert self._outgoing is not None
        while self._writable:
            chunk_bytes = SMALL_BYTES if self._answers.is_scarce else self._chunk_bytes
            try:
                self._write(self._outgoing.take(chunk_bytes))
            except OSError as failed:
                self._abort(OSError(f"an answer could not be read: {failed}"))
                return False
            if not self._outgoing:
                self._outgoing = None
                if self._state is _ENDING:
                    self._transport.close()
                return True
            if self._turns.now_s() >= until_s:
                break
        return False

    def _count_requests(self) -> None:
        size_bytes = self._frames.unread_bytes
        if self._ahead is not None:
            size_bytes += len(self._ahead)
        if self._busy is not None:
            size_bytes += self._busy_bytes
        self._counts[0] = self._requests.holds(self, size_bytes)

    def _close_when_sent(self) -> None:
        if self._outgoing is None:
            self._transport.close()

    def _may_serve(self) -> bool:
        return (
            self._writable
            and self._busy is None
            and self._outgoing is None
            and self._muted is None
            and self._state is not _ENDING
        )

    def _look_ahead(self) -> bool:
        """Whether a whole request is received and not being handled yet."""
        if self._ahead is None and self._end is None:
            try:
                self._ahead = self._frames.next()
            except BadLength as bad:
                self._end = bad
                self._pause()
        return self._ahead is not None

    def _resume(self) -> None:
        """Serve or read again, after a reason not to may have ended."""
        is_to_send = self._outgoing is not None and self._writable
        if is_to_send or (self._may_serve() and self._look_ahead()):
            self._turns.take(self)
        elif self._state is not _ENDING:
            self._read_on()

    def _read_on(self) -> None:
        """Read again once few requests wait; close it if the rest can never be served."""
        if self._state is State.AT_END and self._end is None:
            if not self._has_work():
                self._transport.close()
        elif self._end is not None:
            is_answered = self._busy is None and self._outgoing is None and self._ahead is None
            if is_answered and self._state is not _ENDING:
                self._refuse_size(self._end)
        elif (
            not self._reading
            and self._holds == 0
            and self._muted is None
            and self._state is not _ENDING
            and not (self._frames.unread_bytes > _BACKLOG_BYTES // 2 and self._look_ahead())
        ):
            self._reading = True
            self._transport.resume_reading()

    def _pause(self) -> None:
        if self._reading:
            self._reading = False
            self._transport.pause_reading()

    def _drop_requests(self) -> None:
        self._ahead = None
        self._frames.drop()

    def _ended(self, reply: asyncio.Future[Answer]) -> None:
        """Handle the end of a request that waited, unless its answer is sent already."""
        if reply is not self._busy:
            return
        assert self._context is not None
        failure = None if reply.cancelled() else reply.exception()
        if failure is None and not reply.cancelled():
            self._answered(reply.result())
            return
        context = self._context
        self._set_free()
        if failure is None or self._transport.is_closing():
            return
        if isinstance(failure, DelayedClose):
            self._close_after(failure)
        else:
            self._abort(failure, **context.log_fields())

    def _set_free(self) -> None:
        self._busy = self._context = None
        self._used_s = self._now_s()
        if self._counts[0]:
            self._count_requests()

    def _answered(self, data: Answer) -> None:
        """Send the answer of a request that waited, then serve the next one."""
        context = self._context
        if context is None:
            return
        self._set_free()
        if self._transport.is_closing():
            return
        if isinstance(data, bytearray):
            self._write([data])
        elif data is not None and is_in_memory(data):
            self._write(data)
        elif data is not None:
            self._outgoing = Outgoing(data)
        if context.throttle_time_ms:
            self._mute(context.throttle_time_ms, self._unmute)
        if self._state is _ENDING:
            self._close_when_sent()
        self._resume()

    def _mute(self, wait_ms: int, then: Callable[[], None]) -> None:
        """Throttle the client: neither read nor serve for this time (KIP-219)."""
        self._pause()
        self._muted = self._clock.live.call_after_ms(wait_ms, then)

    def _close_after(self, failed: DelayedClose) -> None:
        """Serve no further requests; after the delay send the last answer and close."""
        self._enter(_ENDING)
        self._drop_requests()

        def close() -> None:
            if failed.frame is not None:
                self._write([failed.frame])
            self._transport.close()

        if failed.delay_ms > 0:
            self._mute(failed.delay_ms, close)
        else:
            close()

    def _refuse_size(self, bad: Malformed) -> None:
        """Close it because of a frame that is too large; in a login after the delay of failures."""
        delay_ms = self._dispatch.size_delay_ms
        if delay_ms > 0:
            self._complain(bad, {})
            self._close_after(DelayedClose(str(bad), None, delay_ms))
        else:
            self._abort(bad)

    def _unmute(self) -> None:
        self._muted = None
        if not self._transport.is_closing():
            self._resume()

    def _hasten(self) -> None:
        """Answer a waiting Fetch now if a request for offsets waits behind it.

        Spark's connector sends some twenty of these around each poll; in Kafka each waits for the
        Fetch before it. The wait time of a Fetch is an upper bound, so ending it early is allowed.
        """
        if self._context is None or self._context.hasten is None or not self._look_ahead():
            return
        assert self._ahead is not None
        if int.from_bytes(self._ahead[:2], "big") in _HASTENING:
            self._context.hasten()

    def _write(self, answers: list[Bytes]) -> None:
        if len(answers) == 1:
            self._transport.write(answers[0])
        elif answers:
            self._transport.writelines(answers)
        if not self._writable:
            self._counts[1] = self._answers.holds(self, self.unsent_bytes)

    def _complain(self, reason: BaseException, fields: Mapping[str, object]) -> None:
        kind, why = explain(reason, fields, self._listener.protocol)
        if self._complaints.may_log(self.info.host, kind):
            _log.warning("connection closed", **{"connection": self.info.id, **fields}, reason=why)

    def _abort(self, reason: BaseException, **fields: object) -> None:
        self._complain(reason, fields)
        self._enter(_ENDING)
        self._outgoing = None
        self._drop_requests()
        self._transport.close()
