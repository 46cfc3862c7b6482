"""The process groups of programs that this process runs: they end with it, however it ends.

A watcher process reads their numbers from a pipe. At the end of the pipe, which is the end of this
process, even by SIGKILL, it kills those that are left, stopped ones included. On Linux it also
kills processes with the variable OTTLA_RUNNER of this process: one whose number this process could
not tell any more, and those that have left their group. As with brokers (`serving/lifeline.py`),
Linux's parent-death signal does not serve: it is sent when the *thread* that started a program
ends.
"""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

_WATCHER: Final = Path(__file__).with_name("process_group_watcher.py")
_MARK: Final = "OTTLA_RUNNER"
_SIGNALED: Final = 128  # the exit status of shells, without the number of the signal


class RunnerEnds(Exception):
    """A signal ends this process, so it starts no program."""


class ProcessGroups:
    """The process groups of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._watcher: subprocess.Popen[bytes] | None = None
        self._watched_pid = 0
        self._mark = ""
        self._signal: signal.Signals | None = None
        self._deferred: signal.Signals | None = None
        self._is_main_starting = False

    def started(
        self, start: Callable[[Mapping[str, str]], subprocess.Popen[bytes]]
    ) -> subprocess.Popen[bytes]:
        """The leader of a new process group, which the function starts, with these variables.

        Raises RunnerEnds, and what the function raises.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if self._signal is not None:
            raise RunnerEnds
        if is_main:  # a signal's exception would lose the process before its number is known
            self._is_main_starting = True
        try:
            self._watch()
            process = start({_MARK: self._mark})
            self._running.add(process.pid)
            self._tell(f"+{process.pid}")
            if self._signal is not None:
                self.kill(process.pid)
                process.wait()
        finally:
            if is_main:
                self._is_main_starting = False
        if is_main and self._deferred is not None:
            _end_by(self._deferred)
        if self._signal is not None:
            raise RunnerEnds
        return process

    def kill(self, group: int) -> None:
        """SIGKILL for a group, the last that happens to it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        self._running.discard(group)
        self._tell(f"-{group}")

    @contextmanager
    def end_at(self, *numbers: signal.Signals) -> Iterator[None]:
        """At these signals, kill all groups at once and start no other ones.

        SIGINT is a KeyboardInterrupt then, and others end this process with status 128 + N. Outside
        of the main thread, where no signals arrive, nothing changes.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._signal = self._deferred = None
        handlers = {number: signal.signal(number, self._on_signal) for number in numbers}
        waked, wakes = socket.socketpair()
        wakes.setblocking(False)
        wakeup = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        thread = threading.Thread(target=self._at_wakeup, args=(waked, numbers), daemon=True)
        thread.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            wakes.close()
            thread.join()

    def _at_wakeup(self, waked: socket.socket, numbers: Sequence[int]) -> None:
        """Kill the programs if the main thread cannot.

        The system may give a signal to another thread, and then the main thread goes on waiting for
        threads that wait for their programs.
        """
        with waked:
            while number := waked.recv(1):
                if number[0] in numbers:
                    self._kill_all(signal.Signals(number[0]))

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._kill_all(signal.Signals(number))
        if self._is_main_starting:
            self._deferred = self._signal
        else:
            _end_by(signal.Signals(number))

    def _kill_all(self, number: signal.Signals) -> None:
        # No lock here: the main thread, which a signal interrupts, may hold it.
        self._signal = number
        for group in list(self._running):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    def _watch(self) -> None:
        """Start the watcher of this process; a forked one needs its own."""
        with self._lock:
            if self._watched_pid == os.getpid():
                return
            self._running.clear()
            self._mark = f"{os.getpid()}-{secrets.token_hex(8)}"
            unmarked = {name: value for name, value in os.environ.items() if name != _MARK}
            self._watcher = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_WATCHER), f"{_MARK}={self._mark}"],
                env=unmarked,  # else the watcher of a runner of this runner would kill it
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # signals of the terminal and to the runner's group miss it
            )
            self._watched_pid = os.getpid()
            atexit.register(self._close)

    def _tell(self, line: str) -> None:
        assert self._watcher is not None
        assert self._watcher.stdin is not None
        with suppress(OSError):  # the watcher was killed
            os.write(self._watcher.stdin.fileno(), f"{line}\n".encode())  # at once: < PIPE_BUF

    def _close(self) -> None:
        if self._watcher is not None and self._watched_pid == os.getpid():
            assert self._watcher.stdin is not None
            self._watcher.stdin.close()
            self._watcher.wait()


_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _end_by(number: signal.Signals) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(_SIGNALED + number)


PROCESS_GROUPS: Final = ProcessGroups()
"""Those of this process."""


def ending_with_command() -> AbstractContextManager[None]:
    """At SIGINT, SIGTERM and SIGHUP, the programs that a command runs end, and so does the command.

    SIGHUP stays ignored under nohup.
    """
    is_ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    numbers = (signal.SIGINT, signal.SIGTERM) if is_ignored else _ENDING
    return PROCESS_GROUPS.end_at(*numbers)
