"""The copies of an application: processes that are started again when they end, like pods."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..program import Program
from .contract import Contract

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
_LOOK_S: Final = 0.01


class Copy:
    """One copy.

    Args:
        number: from 1.
        bootstrap: the addresses of its listener.
        directory: gets the output of each of its processes.

    Attributes:
        exits: the statuses with which its processes ended by themselves.
    """

    def __init__(self, number: int, contract: Contract, bootstrap: str, directory: Path) -> None:
        self.number = number
        self._contract = contract
        self._values = contract.values(bootstrap, number)
        self._directory = directory
        self._started = 0
        self._ready_s = 0.0
        self._program: Program | None = None
        self._others: list[Program] = []  # paused, or resumed beside their replacement
        self.exits: list[int] = []
        self.last_lines: tuple[str, ...] = ()

    @property
    def is_running(self) -> bool:
        """Whether its process is there."""
        return self._program is not None and self._program.status is None

    def start(self) -> None:
        """Start a process. Raises NoProgram."""
        self._started += 1
        output = self._directory / f"copy-{self.number}.{self._started}.txt"
        self._program = Program.with_values(self._contract.command, self._values, output)

    def has_exited(self) -> int | None:
        """The status of a process that ended by itself since the last call; None: none did."""
        if self._program is None or (status := self._program.status) is None:
            return None
        self.last_lines = self._program.tail()
        self._program.end()
        self._program = None
        self.exits.append(status)
        pause_s = min(_FIRST_PAUSE_S * 2 ** (len(self.exits) - 1), _LONGEST_PAUSE_S)
        self._ready_s = time.monotonic() + pause_s
        return status

    def start_again(self) -> bool:
        """Start a process if there is none, and its pause is over; whether it did."""
        if self._program is not None or time.monotonic() < self._ready_s:
            return False
        self.start()
        return True

    def kill(self) -> None:
        """SIGKILL; it is started again without a pause."""
        if self._program is not None:
            self.last_lines = self._program.tail()
            self._program.signal(signal.SIGKILL)
            self._program.end()
            self._program = None

    def terminate(self) -> None:
        """SIGTERM."""
        for program in self._programs():
            program.signal(signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP."""
        if self._program is not None:
            self._program.signal(signal.SIGSTOP)

    def replace(self) -> None:
        """Start another process beside the paused one."""
        if self._program is not None:
            self._others.append(self._program)
            self._program = None
        self.start()

    def resume(self) -> None:
        """SIGCONT for all its processes."""
        for program in self._programs():
            program.signal(signal.SIGCONT)

    def end(self, grace_s: float) -> None:
        """Wait for the ends of its processes, and kill what is left then."""
        deadline_s = time.monotonic() + grace_s
        programs = self._programs()
        while time.monotonic() < deadline_s and any(each.status is None for each in programs):
            time.sleep(_LOOK_S)
        for program in programs:
            with suppress(OSError):
                self.last_lines = program.tail() or self.last_lines
            program.signal(signal.SIGKILL)
            program.end()
        self._program = None
        self._others = []

    def _programs(self) -> list[Program]:
        return [*self._others, *([] if self._program is None else [self._program])]
