"""Reads the file of a trace: whole, or while a broker writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from .events import BrokenTrace, Event, KnownEvent, event_of

_DECODER: Final = msgspec.json.Decoder(KnownEvent)
_Found = TypeVar("_Found")


def read_trace(lines: Iterable[str | bytes]) -> Iterator[Event]:
    """The events of a file; a last line that is cut is left out. Raises BrokenTrace."""
    return _whole(lines, decode_line)


def read_file(file: Path) -> Iterator[Event]:
    """The events of a file, as `read_trace`. Raises BrokenTrace, OSError."""
    with file.open("rb") as lines:  # a text would break where a character is cut
        yield from read_trace(lines)


def read_objects(lines: Iterable[str | bytes]) -> Iterator[dict[str, Any]]:
    """The objects of its lines, also with fields that no struct has. Raises BrokenTrace."""
    return _whole(lines, _decode_object)


def _whole(
    lines: Iterable[str | bytes], decode: Callable[[str | bytes], _Found]
) -> Iterator[_Found]:
    broken, is_cut = 0, False
    for number, line in enumerate(lines, 1):
        if broken:
            raise BrokenTrace(f"line {broken} is no event of a trace")
        try:
            found = decode(line)
        except BrokenTrace:
            broken, is_cut = number, _is_cut(line)
            continue
        yield found
    if broken == 1 or (broken and not is_cut):
        raise BrokenTrace(f"line {broken} is no event of a trace")


def _is_cut(line: str | bytes) -> bool:
    """Whether a line may be the begin of an event whose rest was not written; or an empty one."""
    text = line.encode(errors="replace") if isinstance(line, str) else line
    return not text.strip() or (text.startswith(b"{") and not text.endswith(b"\n"))


def decode_line(line: str | bytes) -> Event:
    """The event of a line. Raises BrokenTrace."""
    try:
        event: Event = _DECODER.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # A kind without a struct, or a text that is no Unicode, which only `json` reads.
        return event_of(_object(line))
    if event.seq < 1:
        raise BrokenTrace("no number")
    return event


def _decode_object(line: str | bytes) -> dict[str, Any]:
    found: dict[str, Any] = _object(line)
    event_of(found)
    return found


def _object(line: str | bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as wrong:
        raise BrokenTrace(str(wrong)) from None


def of_one_broker(events: Iterable[Event]) -> Iterator[Event]:
    """The same events, whose numbers grow. Raises BrokenTrace if another trace begins."""
    last = 0
    for event in events:
        if event.seq <= last:
            raise BrokenTrace(f"another trace begins in it: seq {event.seq} is behind {last}")
        last = event.seq
        yield event


class TraceFollower:
    """The events of a trace file that grows; a line that is not whole yet comes later."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = 0
        self._rest = b""

    def read_new(self) -> Iterator[Event]:
        """The events since the last call; none while there is no file. Raises BrokenTrace."""
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(self._read)
            data = self._rest + file.read()
            self._read = file.tell()
        *lines, self._rest = data.split(b"\n")
        yield from map(decode_line, lines)
