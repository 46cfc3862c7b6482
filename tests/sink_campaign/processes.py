"""The processes of a query, from /proc, and the program that runs it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..kafka.processes import PROC
from .plan import Victim

START_S: Final = 300.0
_MASTERS: Final = {False: "local[2,4]", True: "local-cluster[1,2,512]"}
_RETURN_S: Final = 120.0
_ROOT: Final = Path(__file__).parents[2]


class Ended(Exception):
    """The program ended, because it or its JVM was killed."""


class Program:
    """A program of queries; it starts while other work is done, until `await_ready`.

    Args:
        has_executors: executors are JVMs of their own.
        log: for the output of its JVM.

    Attributes:
        jvm_pid: the process id of its JVM, when it is ready.
        failures: the failures of its queries since `run`, each in one line.
    """

    def __init__(self, *, has_executors: bool, log: Path) -> None:
        self.has_executors = has_executors
        self.failures: list[str] = []
        command = [sys.executable, "-m", "tests.sink_campaign.program", _MASTERS[has_executors]]
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, str(log)],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._lines: deque[str | None] = deque()
        self._arrived = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        self.jvm_pid = 0
        self._watch: Watch | None = None

    def await_ready(self) -> None:
        """Return when it takes queries. Raises Ended, TimeoutError."""
        if self._watch is None:
            line = self._line(time.monotonic() + START_S)
            self.jvm_pid = int(line.removeprefix("ready "))
            # Else the program would take some seconds to notice.
            self._watch = Watch(self.jvm_pid, self._process.kill)

    def begin(self, argument: str) -> None:
        """Begin the query of a `Copy` in JSON. Raises Ended."""
        self.failures.clear()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{argument}\n")
            self._process.stdin.flush()
        except OSError as trouble:
            raise Ended from trouble

    def wait(self, deadline: float) -> None:
        """Return at the end of the query. Raises Ended, TimeoutError."""
        while (line := self._line(deadline)) != "done":
            self.failures.append(line.removeprefix("failed "))

    def kill(self) -> None:
        """Kill the program and its JVM; its other processes end when they notice."""
        started = [self.jvm_pid] if self._watch else _java_below(self._process.pid)
        for pid in (*started, self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        if self._watch is not None:
            self._watch.stop()

    def pids(self, victim: Victim) -> list[int]:
        """The processes that a kill may hit."""
        return [self.jvm_pid] if victim is Victim.DRIVER else _processes_below(self.jvm_pid, victim)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._put(line.strip())
        self._put(None)

    def _put(self, line: str | None) -> None:
        with self._arrived:
            self._lines.append(line)
            self._arrived.notify()

    def _line(self, deadline: float) -> str:
        with self._arrived:
            while not self._lines:
                if not self._arrived.wait(deadline - time.monotonic()):
                    raise TimeoutError
            line = self._lines.popleft()
        if line is None:
            raise Ended
        return line


def _java_below(pid: int) -> list[int]:
    """The JVMs among the descendants of a process."""
    parents, commands = _table()
    return [each for each in _below(pid, parents) if b"java" in commands[each].split(b"\0")[0]]


def _table() -> tuple[dict[int, int], dict[int, bytes]]:
    """The parent and the command line of each process."""
    parents: dict[int, int] = {}
    commands: dict[int, bytes] = {}
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            parents[int(entry.name)] = int(fields[1])
            commands[int(entry.name)] = (entry / "cmdline").read_bytes()

    return parents, commands


def _below(pid: int, parents: dict[int, int]) -> list[int]:
    """The descendants of a process."""

    def is_below(each: int) -> bool:
        while each in parents:
            each = parents[each]
            if each == pid:
                return True
        return False

    return sorted(each for each in parents if is_below(each))


def _processes_below(pid: int, victim: Victim) -> list[int]:
    """The workers, committers or executors among the descendants of a process."""
    parents, commands = _table()

    def is_one(each: int) -> bool:
        mine, over = commands[each], commands.get(parents[each], b"")
        match victim:
            case Victim.WORKER:
                return b"pyspark.worker" in mine and b"pyspark.worker" in over
            case Victim.COMMITTER:
                return b"sink_runner" in mine and b"sink_runner" in over
            case Victim.EXECUTOR:
                return b"CoarseGrainedExecutorBackend" in mine
            case _:
                return False

    return [each for each in _below(pid, parents) if is_one(each)]


class Watch:
    """Calls a function once in a thread when a process has died; `stop` ends the watch."""

    def __init__(self, pid: int, died: Callable[[], None]) -> None:
        self._descriptor = os.pidfd_open(pid)
        self._stopped, self._stop = os.pipe()
        self._died = died
        self.trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._wait)
        self._thread.start()

    def _wait(self) -> None:
        ready, _, _ = select.select([self._descriptor, self._stopped], [], [])
        if self._descriptor in ready:
            try:
                self._died()
            except BaseException as trouble:
                self.trouble = trouble

    def stop(self, *, was_killed: bool = False) -> None:
        """End the watch, after its function if that has begun. Raises what that raised.

        Args:
            was_killed: the process got SIGKILL. A large one takes a while to die: wait for it.
        """
        if was_killed:
            self._thread.join(_RETURN_S)
        os.close(self._stop)
        self._thread.join()
        for each in (self._descriptor, self._stopped):
            os.close(each)
        if self.trouble is not None:
            raise self.trouble
