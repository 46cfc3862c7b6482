"""The program of a client: a process group of its own, which ends with this process."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Final, Self

from .process_groups import PROCESS_GROUPS, RunnerEnds

_STANDARD_ERROR: Final = 2
_GRACE_S: Final = 2.0
_TAIL_BYTES: Final = 4096


class NoProgram(Exception):
    """The program cannot be started; the text says why."""


def filled(command: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """The command with `{name}` replaced by values; other braces stay."""
    found = list(command)
    for name, value in values.items():
        found = [word.replace(f"{{{name}}}", value) for word in found]
    return found


class Program:
    """A running program; a `with` ends it with all its children.

    Args:
        command: the program and its arguments.
        environment: variables in addition to those of this process.
        output: the file of its output and errors; None: standard error.
        takes_lines: whether `tell` sends it lines; without, its input is empty.

    Raises:
        NoProgram: it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        output: Path | None,
        *,
        takes_lines: bool = False,
    ) -> None:
        self._output = output

        def start(to: IO[bytes] | int, mark: Mapping[str, str]) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command,
                env={**os.environ, **environment, **mark},
                stdin=subprocess.PIPE if takes_lines else subprocess.DEVNULL,
                stdout=to,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

        with nullcontext(_STANDARD_ERROR) if output is None else output.open("wb") as file:
            try:
                self._process = PROCESS_GROUPS.started(lambda mark: start(file, mark))
            except OSError as failed:
                reason = failed.strerror or str(failed)
                raise NoProgram(f"{command[0]} cannot be run: {reason}") from None
            except RunnerEnds:
                raise NoProgram(f"{command[0]} is not run: a signal ends all programs") from None

    @classmethod
    def with_values(
        cls, command: Sequence[str], values: Mapping[str, str], output: Path | None
    ) -> Self:
        """Start a program that gets values by placeholders `{name}` and by variables.

        A variable has the name in capitals, behind `OTTLA_`.

        Its output goes to `output`; None: to standard error. Raises NoProgram.
        """
        variables = {f"OTTLA_{name.upper()}": value for name, value in values.items()}
        variables["KAFKA_BOOTSTRAP_SERVERS"] = values["bootstrap"]
        return cls(filled(command, values), variables, output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        """Its status once it ends; None if it takes longer."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout_s)
        return None

    def tell(self, line: str) -> None:
        """Send it a line; nothing happens if it has ended."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()

    def end(self) -> None:
        """End its process group: SIGTERM, and SIGKILL for what is still there."""
        if self._process.poll() is None:
            self.signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        PROCESS_GROUPS.kill(self._process.pid)
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """Send its process group a signal; nothing happens if it has ended."""
        # The group keeps its number while a process of it, or its unread status, is there.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def tail(self, lines: int = 5) -> tuple[str, ...]:
        """The last lines of its output, if that is a file."""
        if self._output is None:
            return ()
        with self._output.open("rb") as file:
            file.seek(max(0, self._output.stat().st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
        return tuple(each.rstrip() for each in text.splitlines()[-lines:])


def describe_exit(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"the program exited with status {status}"
    try:
        return f"the program was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"the program was ended by signal {-status}"
