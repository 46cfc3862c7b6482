"""Programs end with the process that runs them, however that ends, and stopped ones, too."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ottla.testing import Ottla

# It ignores SIGTERM, and holds the file open as its child does, until both have ended.
APP = 'exec 3> "$0"; trap "" TERM; echo $$ >&3; sleep 1000 & wait'
WITH_THREADS = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from ottla.trials.program import NoProgram, Program
from ottla.trials.process_groups import ending_with_command

def run(number):
    try:
        while True:
            with Program(sys.argv[1:], {}, Path(f"output-{number}")) as program:
                while program.status is None:
                    time.sleep(0.01)
    except NoProgram:
        pass

with ending_with_command(), ThreadPoolExecutor(2) as pool:
    list(pool.map(run, range(2)))
"""
TORTURE = ["-m", "ottla", "torture", "--"]
CONFORM = ["-m", "ottla", "conform", "--scenario", "calm", "--"]
DIFF = ["-m", "ottla", "diff", "--with", "BROKER", "--ottla", "BROKER", "--"]
WAIT_S = 20


class Programs:
    """The programs of a runner, by the pipe that they hold."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self.pids: list[int] = []

    def wait_started(self, count: int) -> None:
        """Return once so many have said their process ids."""
        while len(self.pids) < count:
            said = self._read()
            assert said, "the programs did not start"
            self.pids += map(int, said.split())

    def have_ended(self) -> bool:
        """Whether the pipe ends: no process has it open."""
        while said := self._read():
            self.pids += map(int, said.split())
        return said == b""

    def _read(self) -> bytes | None:
        readable, _, _ = select.select([self._pipe], [], [], WAIT_S)
        return os.read(self._pipe, 4096) if readable else None


@contextmanager
def runner(words: list[str], directory: Path) -> Iterator[tuple[subprocess.Popen[str], Programs]]:
    """A process that runs APP, and its programs; none outlives a test."""
    fifo = directory / "fifo"
    os.mkfifo(fifo)
    command = [sys.executable, "-P", *words]
    pipe = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    programs = Programs(pipe)
    with subprocess.Popen(
        [*command, "sh", "-c", APP, str(fifo)], cwd=directory, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, programs
        finally:
            process.kill()
            for pid in programs.pids:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
            os.close(pipe)


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, -signal.SIGINT),  # Python's own end by a KeyboardInterrupt
        (signal.SIGTERM, 143),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_programs_of_threads_end_with_their_runner(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    with runner(["-c", WITH_THREADS], tmp_path) as (process, programs):
        programs.wait_started(2)
        os.kill(programs.pids[0], signal.SIGSTOP)
        process.send_signal(number)
        assert programs.have_ended()
        assert process.wait(WAIT_S) == status


@pytest.mark.parametrize(
    ("words", "number", "status"),
    [(TORTURE, signal.SIGTERM, 143), (CONFORM, signal.SIGINT, 130), (DIFF, signal.SIGINT, 130)],
)
def test_programs_end_with_their_command(
    words: list[str], number: signal.Signals, status: int, tmp_path: Path, ottla: Ottla
) -> None:
    given = [ottla.bootstrap if word == "BROKER" else word for word in words]
    with runner(given, tmp_path) as (process, programs):
        programs.wait_started(1)
        process.send_signal(number)
        assert programs.have_ended()
        assert process.wait(WAIT_S) == status
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
