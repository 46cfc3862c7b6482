"""The trace: each request and answer, and what they changed, as events with sequence numbers.

Events are the structs of `trace/events.py`, which become JSON lines; work of timers has no `cause`.
Values are bounded in size, and secrets never appear (`broker/requests/request_fields.py`).
"""

from __future__ import annotations

import asyncio
import errno
import json
from collections import OrderedDict, deque
from collections.abc import Callable, Generator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

from ...broker.clock import Clock
from ...broker.event_stream import Events
from ...broker.log_output import Log
from ...protocol.errors import Refused
from ...trace.events import Answer, Event, Request, fields_of, value_of
from ...trace.wildcards import fits
from ..rules.rule import RING
from .sights import api_name, name_of_key
from .trace_events import (
    answer_fields,
    is_traced_with_its_request,
    request_fields,
    traced_event,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from ...broker.node import Node
    from ...broker.requests.context import ConnectionInfo, Context
    from ...protocol.messages import RequestHeader

Line = dict[str, Any]
MOST_AT_ONCE: Final = 10_000
_A_SLICE: Final = 1000
_BEGIN: Final = b'{"seq": '
_MOST_STATES: Final = 10_000
_Result = TypeVar("_Result")
_log = Log("events")
_as_json: Final = json.JSONEncoder(default=str, ensure_ascii=False).encode


class Tracer:
    """Keeps the newest events in memory, and may write all of them to a file.

    Args:
        events: the broker's events.
        clock: the time.

    Attributes:
        is_on: whether events are kept.
        was_on: whether they were kept at any time.
        path: of the file that gets the events; None for none, and after a write that failed.
        on_change: called when it was switched on or off.
        cause: the number of the request that runs now; None for timers.
        with_previews: whether batches have the beginnings of keys and values.
    """

    def __init__(self, events: Events, clock: Clock) -> None:
        self._stream = events
        self._clock = clock
        self._ring: deque[Event] = deque(maxlen=RING)
        self._file: IO[str] | None = None
        self._file_bytes: int | None = None
        self._file_size = 0  # in characters, since it was opened
        self._written: set[Path] = set()
        self._last = 0
        self._states: OrderedDict[str, str] = OrderedDict()
        self.is_on = self.was_on = False
        self.path: Path | None = None
        self.cause: int | None = None
        self.with_previews = True
        self.on_change: Callable[[], None] = lambda: None

    @property
    def last(self) -> int:
        """The sequence number of the newest event; 0 before the first."""
        return self._last

    def start(
        self, *, ring: int = RING, file: Path | None = None, file_bytes: int | None = None,
        with_previews: bool = True,
    ) -> None:  # fmt: skip
        """Trace from now on; events that are in memory stay, as far as the ring has room.

        Args:
            ring: the number of events in memory.
            file: gets all further events, a line of JSON each. One of this broker grows; the
                trace of an earlier broker becomes FILE.before.
            file_bytes: a larger file becomes FILE.before, and a new one begins; None for no limit.
            with_previews: whether batches have the beginnings of keys and values.

        Raises:
            OSError: the file cannot be opened, or is no trace.
        """
        opened = None if file is None else self._opened(file)
        self._ring = deque(self._ring, maxlen=ring)
        self.with_previews = with_previews
        self._close_file()
        self._file, self.path = opened, file
        self._file_bytes = file_bytes
        self._file_size = 0 if file is None else file.stat().st_size
        if not self.is_on:
            self.is_on = self.was_on = True
            self._stream.add(self._observe)
            self.on_change()

    def stop(self) -> None:
        """Trace no more; the events in memory stay."""
        if self.is_on:
            self.is_on = False
            self._states.clear()  # they change unseen from now on
            self._stream.remove(self._observe)
            self.on_change()
        self._close_file()

    def _close_file(self) -> None:
        """Close the file; it was written line by line, so that nothing is lost."""
        if self._file is not None:
            with suppress(OSError):  # a full disk, which has been reported
                self._file.close()
            self._file = self.path = None

    def _opened(self, file: Path) -> IO[str]:
        """Open the file of a trace. A file has the events of one broker, whose numbers grow."""
        if file.is_fifo():  # whose opening waits for a reader
            raise OSError(errno.EINVAL, "a pipe cannot be the file of a trace")
        whole = file.absolute()
        if file.is_file() and whole not in self._written and file.stat().st_size:
            if not _is_trace(file):
                raise OSError(errno.EEXIST, "the file exists, and is no trace")
            file.replace(file.with_name(f"{file.name}.before"))
        opened = file.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
        self._written.add(whole)
        return opened

    def newest(self, count: int) -> list[Event]:
        """The newest events in memory, in their order."""
        return list(islice(self._ring, max(0, len(self._ring) - count), None))

    def clear(self) -> None:
        """Forget the events in memory; sequence numbers go on."""
        self._ring.clear()

    def add(self, event: Event) -> int:
        """Add an event; return its sequence number, 0 if the trace is off.

        Args:
            event: gets its number and time here. If it has no cause, that is the request that runs
                now, if there is one.
        """
        if not self.is_on:
            return 0
        self._last = event.seq = self._last + 1
        event.at_ms = self._clock.now_ms()
        event.cause = event.cause or self.cause or 0
        self._ring.append(event)
        if self._file is not None:
            try:
                self._file_size += self._file.write(_as_json(fields_of(event)) + "\n")
                self._turn_over()
            except OSError as failed:
                _log.error(
                    "the file of the trace cannot be written and is given up",
                    path=str(self.path), reason=failed,
                )  # fmt: skip
                self._close_file()
        return self._last

    def _turn_over(self) -> None:
        """Begin a new file if this one is as large as it may be. Raises OSError."""
        if self._file is None or self.path is None or self._file_bytes is None:
            return
        if self._file_size >= self._file_bytes:
            self._file_size = 0
            self._file.close()
            self.path.replace(self.path.with_name(f"{self.path.name}.before"))
            self._file = self._opened(self.path)

    def request(self, node: Node, context: Context, request: object) -> int:
        """Add a decoded request; return its number."""
        connection = context.connection
        self.cause = None
        fields = request_fields(context.api_key, request, with_previews=self.with_previews)
        return self.add(
            Request(
                node_id=node.node_id, connection=connection.id, listener=connection.listener.name,
                principal=context.principal.text, client_id=context.client_id,
                api=api_name(context.api_key), version=context.version,
                correlation_id=context.correlation_id, fields=fields,
            )
        )  # fmt: skip

    def unreadable(
        self, node: Node, connection: ConnectionInfo, header: RequestHeader, why: str
    ) -> None:
        """Add a request that cannot be read, for which its connection is closed."""
        self.cause = None
        api = name_of_key(header.api_key)
        number = self.add(
            Request(
                node_id=node.node_id, connection=connection.id, listener=connection.listener.name,
                client_id=header.client_id, api=api, version=header.api_version,
                correlation_id=header.correlation_id, undecoded=why,
            )
        )  # fmt: skip
        self.add(Answer(cause=number, api=api, took_us=0, unanswered="the connection is closed"))

    def answer(self, number: int, context: Context, body: object, began_s: float) -> None:
        """Add the answer to a request, or that there is none (acks=0)."""
        response = None
        if body is not None:
            response = answer_fields(context.api_key, body, with_previews=self.with_previews)
        self._add_answer(number, context, began_s, Answer(response=response))

    def ended(self, number: int, context: Context, ended: BaseException, began_s: float) -> None:
        """Add that a request got an error instead of a body, or that its connection is closed."""
        if isinstance(ended, Refused):
            answer = Answer(error=ended.code.name)
        else:
            answer = Answer(unanswered=str(ended) or "cancelled")
        self._add_answer(number, context, began_s, answer)

    def _add_answer(self, number: int, context: Context, began_s: float, answer: Answer) -> None:
        answer.took_us = round((self._clock.live.monotonic_s() - began_s) * 1_000_000)
        answer.api = api_name(context.api_key)
        answer.cause = number
        self.add(answer)

    async def find(
        self, *, after: int = 0, limit: int = MOST_AT_ONCE, **wanted: object
    ) -> tuple[list[Line], int]:
        """Events in memory after a sequence number; of many, in slices beside other requests.

        Args:
            wanted: values of fields; texts are patterns with *. A request, and what it caused, is
                found by the fields of the request.

        Returns:
            The lines of the events, and the number to continue after.
        """
        # Numbers have no gaps, so what is before them is skipped without a look.
        seen = min(max(after - (self._last - len(self._ring)), 0), len(self._ring))
        last, events = self._last, list(islice(self._ring, 0 if wanted else seen, None))
        holds = [_holds(name, value) for name, value in wanted.items()]
        found: list[Line] = []
        requests: set[int] = set()
        reached = after
        for number, event in enumerate(events):
            if number % _A_SLICE == _A_SLICE - 1:
                await asyncio.sleep(0)
            if len(found) == limit:
                return found, reached
            is_request = isinstance(event, Request)
            is_wanted = all(hold(event) for hold in holds)
            if is_wanted and is_request:
                requests.add(event.seq)
            if event.seq > after:
                reached = event.seq
                if is_wanted or event.cause in requests:
                    found.append(fields_of(event))
        return found, max(reached, last)

    async def caused(self, number: int, running: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine; the events of its steps get a request as their cause."""
        if not number:
            return await running
        result: _Result = await _Steps(self, number, running)
        return result

    def _observe(self, event: object) -> None:
        if not is_traced_with_its_request(event):
            self.add(traced_event(event, self._before))

    def _before(self, transactional_id: str, state: str) -> str | None:
        """The state that a transactional id had before this one, if the trace saw it."""
        before = self._states.pop(transactional_id, None)
        self._states[transactional_id] = state
        if len(self._states) > _MOST_STATES:
            self._states.popitem(last=False)
        return before


class _Steps:
    """Sets the tracer's cause in each step of a coroutine."""

    def __init__(self, tracer: Tracer, number: int, running: Coroutine[Any, Any, Any]) -> None:
        self._tracer = tracer
        self._number = number
        self._running = running

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = self._resume
        try:
            while True:
                waited_for = self._take(step)
                try:
                    yield waited_for
                except BaseException as thrown:
                    step = _thrower(self._running, thrown)
                else:
                    step = self._resume
        except StopIteration as done:
            return done.value
        finally:
            self._running.close()

    def _resume(self) -> Any:
        return self._running.send(None)

    def _take(self, step: Callable[[], Any]) -> Any:
        before, self._tracer.cause = self._tracer.cause, self._number
        try:
            return step()
        finally:
            self._tracer.cause = before


def _thrower(running: Coroutine[Any, Any, Any], thrown: BaseException) -> Callable[[], Any]:
    return lambda: running.throw(thrown)


def _is_trace(file: Path) -> bool:
    """Whether a file begins as a trace does; its first line may be cut off."""
    with file.open("rb") as opened:
        return opened.read(len(_BEGIN)) == _BEGIN


def _holds(name: str, wanted: object) -> Callable[[Event], bool]:
    """Whether an event has a value; a text is a pattern."""
    if not isinstance(wanted, str):
        return lambda event: value_of(event, name) == wanted
    fitting = fits(wanted)

    def holds(event: Event) -> bool:
        value = value_of(event, name)
        return isinstance(value, str) and fitting(value)

    return holds
