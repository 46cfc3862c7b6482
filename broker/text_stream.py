"""Standard output and standard error for a broker: a write never blocks and never raises.

A line goes out at once if the reader has room for it, so that it is there before the answer that
follows. Otherwise it waits in a bounded buffer, which a thread empties: a reader that stalls costs
lines, never an answer. How many lines were lost is said as soon as there is room again.

Files are written directly. Pipes and terminals are opened once more for writes that do not block,
since the flag of the descriptor itself would be that of all processes that share it. What cannot
be opened so is left to the thread. The thread starts with the first line that waits: `ottla
template` forks its brokers, and may have none.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

MOST_WAITING_BYTES: Final = 1 << 20
_DONT_WAIT: Final = getattr(socket, "MSG_DONTWAIT", 0)
_DIRECT_KINDS: Final = (stat.S_ISREG, stat.S_ISBLK)

WriteSome = Callable[[bytes], int]
"""Writes the first bytes, as many as there is room for; returns their number, or raises
BlockingIOError."""


class TextStream:
    """The output to one descriptor.

    Args:
        descriptor: looked at when the first text is written.
        lost_line: makes the text that says how many lines were lost; it may be empty.

    Attributes:
        lost: the lines that were lost since the last text that said so.
    """

    def __init__(self, descriptor: int, lost_line: Callable[[int], str]) -> None:
        self._descriptor = descriptor
        self._lost_line = lost_line
        self._write_now: WriteSome | None = None
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self.lost = 0

    def write(self, text: str) -> None:
        """Write a text that ends with a newline, at once or later; it is lost if many wait."""
        try:
            data = text.encode(errors="backslashreplace")
            with self._changed:
                if not self._waiting:
                    data = self._write_at_once(data)
                if data:
                    self._keep(data)
        except Exception:  # no memory, no thread: a line never breaks what it tells of
            self.lost += 1

    def drain(self, timeout_s: float) -> bool:
        """Wait until nothing waits; whether that is so. Before the process ends."""
        with self._changed:
            return not self._waiting or self._changed.wait(timeout_s)

    def _write_at_once(self, data: bytes) -> bytes:
        """Write what there is room for; return the rest. A reader that is gone takes all."""
        if self._write_now is None:
            self._write_now = _writer(self._descriptor)
        if self.lost:
            lost, self.lost = self.lost, 0
            data = self._lost_line(lost).encode() + data
        try:
            while data:
                data = data[self._write_now(data) :]
        except BlockingIOError:
            return data
        except (OSError, ValueError):
            return b""
        return data

    def _keep(self, data: bytes) -> None:
        if self._waiting_bytes + len(data) > MOST_WAITING_BYTES:
            self.lost += 1
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._thread is None or not self._thread.is_alive():  # it may have lacked memory
            self._thread = self.start_thread()

    def start_thread(self) -> threading.Thread:
        """Start the thread. Raises RuntimeError: the process may have no more; the next line
        tries again."""
        thread = threading.Thread(target=self._empty, name="output", daemon=True)
        thread.start()
        return thread

    def _empty(self) -> None:
        """The thread: write what waits, by writes that block, and end."""
        while True:
            with self._changed:
                if self.lost and self._waiting_bytes <= MOST_WAITING_BYTES // 2:
                    lost, self.lost = self.lost, 0
                    said = self._lost_line(lost).encode()
                    self._waiting.append(said)
                    self._waiting_bytes += len(said)
                if not self._waiting:
                    self._thread = None
                    self._changed.notify_all()
                    return
                data = self._waiting[0]
            _write_blocking(self._descriptor, data)
            with self._changed:
                self._waiting.popleft()
                self._waiting_bytes -= len(data)


def _write_blocking(descriptor: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:  # another process made the descriptor one that does not block
            select.select([], [descriptor], [])
        except OSError:
            return


def _writer(descriptor: int) -> WriteSome:
    """How to write without waiting to what the descriptor is."""
    mode = os.fstat(descriptor).st_mode
    if any(is_of_kind(mode) for is_of_kind in _DIRECT_KINDS) or _is_null(descriptor):
        return lambda data: os.write(descriptor, data)
    if stat.S_ISSOCK(mode) and _DONT_WAIT:
        return lambda data: _send(descriptor, data)
    if sys.platform == "linux":
        try:
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            own = os.open(f"/proc/self/fd/{descriptor}", flags)
        except OSError:  # no /proc, or it belongs to another user
            return _refuse
        return lambda data: os.write(own, data)
    return _refuse


def _send(descriptor: int, data: bytes) -> int:
    peer = socket.socket(fileno=descriptor)
    try:
        return peer.send(data, _DONT_WAIT)
    finally:
        peer.detach()


def _is_null(descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(os.devnull))
    except OSError:
        return False


def _refuse(data: bytes) -> int:
    raise BlockingIOError
