"""What the lab of an exhibit works with: a trial, and the program once it runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from ...testing.broker import Ottla
from ...testing.lab import Fault
from ..program import Program
from ..trial import Trial
from .seen import said

TOPIC: Final = "museum"
GROUP: Final = "museum"
_LOOK_S: Final = 0.02


class NotSaid(Exception):
    """The program did not say, within the time, what the lab waits for."""


class ReplayTrial(Trial):
    """A trial of an exhibit.

    Attributes:
        program: None before it runs.
        output_file: of the program.
    """

    def __init__(self, broker: Ottla, directory: Path, timeout_s: float) -> None:
        super().__init__(broker, directory, timeout_s)
        self.output_file = directory / "output.txt"
        self.program: Program | None = None

    def output(self) -> list[str]:
        """The lines of the program's output."""
        try:
            return self.output_file.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def wait_said(self, name: str, count: int = 1) -> None:
        """Return once the program has said something under a name. Raises NotSaid."""
        while len(said(self.output(), name)) < count:
            if self.has_ended or self.is_late:
                raise NotSaid(name)
            time.sleep(_LOOK_S)

    def wait_output(self, text: str, count: int = 1) -> None:
        """Return once so many lines of the output have a text. Raises NotSaid."""
        while sum(text in each for each in self.output()) < count:
            if self.has_ended or self.is_late:
                raise NotSaid(text)
            time.sleep(_LOOK_S)

    def wait_fired(self, fault: Fault, count: int) -> None:
        """Return once a fault has fired so often, or the program has ended."""
        while fault.fired < count and not self.has_ended and not self.is_late:
            time.sleep(_LOOK_S)

    def end(self) -> None:
        """End the program."""
        if self.program is not None:
            self.program.end()

    def tell(self, line: str) -> None:
        """Send the program a line."""
        if self.program is not None:
            self.program.tell(line)

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended."""
        return self.program is not None and self.program.status is not None

    def wait_end(self) -> int | None:
        """The exit status of the program; None if its time is over before."""
        while not self.has_ended and not self.is_late:
            time.sleep(_LOOK_S)
        return None if self.program is None else self.program.status
