"""Starts brokers in milliseconds: a warm process, `ottla template`, forks each of them.

    with Template() as template, open("broker.log", "ab") as log:
        broker = template.start(["--listen", "127.0.0.1:0"], stdout=log, stderr=log)
        ready = broker.await_ready(20)
        ...
        broker.terminate()
        broker.wait(20)

A forked broker is a process of its own, as `ottla serve` with these arguments is: with its own
process group, environment, directory, streams and exit status. Only the defaults of some settings
of groups are 0, as for all brokers of tests (`defaults_of_tests.py`). `start_at` uses the socket of
an `ottla template` that another program started. Linux and macOS only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self

from .scratch import Scratch, SocketPlace

__all__ = ["Template", "TemplateBroker", "TemplateFailed", "start_at"]

ANSWER_TIMEOUT_S: Final = 10.0
_MOST_AT_ONCE: Final = 1 << 16


class TemplateFailed(Exception):
    """The template did not start, ended, or refused the request; no broker was started."""


class TemplateBroker:
    """A broker that a template forked.

    Args:
        connection: to the template, after the broker's process id was received.

    Attributes:
        pid: its process id, also the id of its process group.
        ready: the content of `ottla serve --ready-json`; None until `await_ready` received it.
        returncode: its exit status, negative for a signal; None while it runs or if unknown.
    """

    def __init__(self, connection: socket.socket, pid: int, received: bytes = b"") -> None:
        self.pid = pid
        self.ready: dict[str, Any] | None = None
        self.returncode: int | None = None
        self._connection = connection
        self._received = bytearray(received)
        self._has_ended = False
        # On Linux it names the process until it is closed, and shows its end before the template
        # has reported it; elsewhere the process id has to do.
        self._process: int | None = None
        if sys.platform == "linux":
            with suppress(ProcessLookupError):  # it has ended, and the report is on its way
                self._process = os.pidfd_open(pid)

    def await_ready(self, timeout_s: float) -> dict[str, Any] | None:
        """Wait until it answers; return the content of `ready`, or None if it ended.

        Raises:
            TimeoutError: neither happened in time.
        """
        deadline_s = time.monotonic() + timeout_s
        while self.ready is None and not self._has_ended:
            if not self._hear(deadline_s):
                raise TimeoutError(f"the broker did not answer within {timeout_s:.0f} s")
        return self.ready

    def has_ended(self) -> bool:
        """Whether the process has ended."""
        while not self._has_ended and self._hear(0.0):
            pass
        if not self._has_ended and self._process is not None:
            poll = select.poll()
            poll.register(self._process, select.POLLIN)
            if poll.poll(0):
                self.wait(ANSWER_TIMEOUT_S)
        return self._has_ended

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait until it ends; return its status, None if the template ended before it.

        Raises:
            TimeoutError: it still runs.
        """
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._has_ended:
            if not self._hear(deadline_s):
                raise TimeoutError(f"the broker did not end within {timeout_s} s")
        return self.returncode

    def terminate(self) -> None:
        """Send SIGTERM: stop cleanly."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._send(signal.SIGKILL)

    def close(self) -> None:
        """Close the connection; the broker ends if it was started so."""
        self._connection.close()
        if self._process is not None:
            os.close(self._process)
            self._process = None

    def _send(self, number: signal.Signals) -> None:
        if not self.has_ended():
            with suppress(ProcessLookupError):
                if sys.platform == "linux" and self._process is not None:
                    signal.pidfd_send_signal(self._process, number)
                else:
                    os.kill(self.pid, number)

    def _hear(self, deadline_s: float | None) -> bool:
        """Read one message; whether there was one. The end of the connection is one, too."""
        answer = _next_answer(self._connection, self._received, deadline_s)
        if answer is None:
            return False
        if "ready" in answer:
            self.ready = answer["ready"]
        else:
            self._has_ended = True
            self.returncode = answer.get("exit")
        return True


class Template:
    """An `ottla template` of this process, which ends with it.

    Args:
        idle_s: it also ends after so many seconds without brokers and requests; 0: never.

    Raises:
        TemplateFailed: it did not start.
    """

    def __init__(self, *, idle_s: float = 0.0) -> None:
        # Private: a process that may connect runs brokers as this user.
        self._scratch = Scratch.make("ottla-template-")
        self._directory = self._scratch.path
        self._sockets = SocketPlace()
        self.path = self._sockets.path_of(self._directory / "socket")
        command = [sys.executable, "-P", "-m", "ottla", "template", "--until-stdin-ends"]
        command += ["--socket", str(self.path), "--idle-s", str(idle_s)]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, process_group=0
            )
        assert self._process.stdout is not None
        with self._process.stdout as output:
            listens = output.readline()
        if not listens:
            told = (self._directory / "log").read_text(errors="replace").strip()
            self.close()
            raise TemplateFailed(f"the template did not start: {told}")

    @property
    def pid(self) -> int:
        """The process id of the template."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether the process of the template runs."""
        return self._process.poll() is None

    def start(
        self,
        arguments: Sequence[str],
        *,
        stdout: IO[bytes] | int,
        stderr: IO[bytes] | int,
        environment: Mapping[str, str] | None = None,
        ends_with_connection: bool = True,
    ) -> TemplateBroker:
        """Fork a broker; see `start_at`."""
        return start_at(
            self.path, arguments, stdout=stdout, stderr=stderr, environment=environment,
            ends_with_connection=ends_with_connection,
        )  # fmt: skip

    def close(self) -> None:
        """End the template; brokers go on until their connections are closed."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._scratch.remove()
        self._sockets.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_at(
    path: Path,
    arguments: Sequence[str],
    *,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    environment: Mapping[str, str] | None = None,
    ends_with_connection: bool = True,
) -> TemplateBroker:
    """Fork a broker from the template that listens on a Unix socket.

    Args:
        arguments: those of `ottla serve`.
        stdout, stderr: files of the broker's standard output and error.
        environment: its variables; None for those of this process. Variables that Python itself
            reads when it starts, such as PYTHONPATH, have no effect.
        ends_with_connection: the broker stops when the returned object is closed, or this process
            ends.

    Raises:
        TemplateFailed: the template does not answer, or refuses.
    """
    request = {
        "arguments": list(arguments),
        "environment": dict(os.environ if environment is None else environment),
        "directory": _directory(),
        "umask": _umask(),
        "ends_with_connection": ends_with_connection,
    }
    streams = [each if isinstance(each, int) else each.fileno() for each in (stdout, stderr)]
    connection = socket.socket(socket.AF_UNIX)
    received = bytearray()
    try:
        connection.settimeout(ANSWER_TIMEOUT_S)
        connection.connect(str(path))
        line = memoryview(json.dumps(request).encode() + b"\n")
        sent = socket.send_fds(connection, [line[:_MOST_AT_ONCE]], streams)
        connection.sendall(line[sent:])
        answer = _next_answer(connection, received, time.monotonic() + ANSWER_TIMEOUT_S)
    except OSError as failed:
        connection.close()
        raise TemplateFailed(f"{path}: {failed}") from None
    if not answer or "pid" not in answer:
        connection.close()
        raise TemplateFailed(f"{path}: {(answer or {}).get('error', 'no answer')}")
    return TemplateBroker(connection, answer["pid"], bytes(received))


def _next_answer(
    connection: socket.socket, received: bytearray, deadline_s: float | None
) -> dict[str, Any] | None:
    """The next line's JSON; None at the deadline; empty at the end of the connection."""
    while b"\n" not in received:
        left_s = None if deadline_s is None else max(deadline_s - time.monotonic(), 0.0)
        connection.settimeout(left_s)
        try:
            data = connection.recv(_MOST_AT_ONCE)
        except (TimeoutError, BlockingIOError):
            return None
        except OSError:
            data = b""
        if not data:
            return {}
        received += data
    line, _, rest = bytes(received).partition(b"\n")
    received[:] = rest
    answer: dict[str, Any] = json.loads(line)
    return answer


def _directory() -> str:
    """The current directory; that of the system's root if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def _umask() -> int:
    # Linux shows it; os.umask can only read it by changing it for all threads.
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
