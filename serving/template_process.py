"""The warm process of `ottla template`: it forks a broker for each connection to its socket.

The process imports what a broker needs, and never has a thread, an event loop or an open data file,
so that a forked broker starts as a fresh process does, in a tenth of the time. A client sends one
line of JSON, and the descriptors of the broker's standard output and error (SCM_RIGHTS):

    {"arguments": [...], "environment": {...}, "directory": "...", "umask": 18,
     "ends_with_connection": true}

`arguments` are those of `ottla serve`. The answers are lines of JSON, each of one of these kinds:

    {"pid": 4711}
    {"ready": {...}}       the broker answers; the content is that of `ottla serve --ready-json`
    {"exit": -9}           the broker ended; a negative status is a signal's number
    {"error": "..."}       the request is wrong; no broker was started

The broker keeps the connection as its standard input, so it also sees its end without the template.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from ..broker.unix_process import ENDING_SIGNALS

REQUEST_BYTES: Final = 4 << 20
_REQUEST_TIMEOUT_S: Final = 10.0
_STREAMS: Final = 2  # descriptors with a request
_SIGNALS: Final = (*ENDING_SIGNALS, signal.SIGCHLD)

# What a broker imports when it starts, and with its first requests.
_MODULES: Final = (
    "ottla.broker.server",
    "ottla.broker.settings.rules",
    "ottla.broker.control_socket",
    "ottla.console.variables",
    "uvloop",
    "resource",
    "tempfile",  # a directory of its own, with what removes it
    "shutil",
    "threading",
    "ottla.serving.lifeline",
)
# The APIs that most clients use.
_USUAL: Final = ("API_VERSIONS", "METADATA", "PRODUCE", "FETCH", "LIST_OFFSETS", "FIND_COORDINATOR")

Serve = Callable[[list[str], Callable[[Mapping[str, object]], None]], int]
"""Runs `ottla serve` with arguments, calls the function when it is ready, returns the status."""


class CannotListen(Exception):
    """The socket cannot be made; the text says why."""


def serve_template(
    path: Path,
    serve: Serve,
    *,
    idle_s: float,
    until_stdin_ends: bool,
    as_json: bool = False,
) -> int:
    """Fork brokers until a signal ends it, the end of standard input, or an idle time.

    The brokers go on; those with `ends_with_connection` end with their connections.

    Args:
        path: the Unix socket, for this user only; removed at the end.
        serve: runs a broker in a forked process.
        idle_s: end after so many seconds without brokers and requests; 0: never.
        until_stdin_ends: end when standard input ends, too.
        as_json: print the socket and the process id as JSON, instead of a sentence.

    Raises:
        CannotListen: the system has no fork or no Unix sockets, or the path cannot be used.
    """
    if not hasattr(os, "fork") or not hasattr(socket, "AF_UNIX"):
        raise CannotListen("a template needs fork and Unix sockets: Linux or macOS")
    from ..broker.net.listening import PrivateSocket

    try:
        private = PrivateSocket(str(path))
    except OSError as failed:
        raise CannotListen(f"{path}: {failed.strerror}") from None
    try:
        template = _Template(private.listening, serve)
        return template.run(idle_s, until_stdin_ends=until_stdin_ends, as_json=as_json)
    finally:
        private.close()


class _Template:
    """The socket, and a connection for each broker that runs."""

    def __init__(self, listening: socket.socket, serve: Serve) -> None:
        self._listening = listening
        self._serve = serve
        self._brokers: dict[int, socket.socket] = {}
        self._wake, self._waking = socket.socketpair()
        self._ends = False

    def run(self, idle_s: float, *, until_stdin_ends: bool, as_json: bool) -> int:
        self._take_signals()
        poll = select.poll()
        poll.register(self._listening, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        if until_stdin_ends:
            poll.register(sys.stdin.fileno(), select.POLLIN)
        steps = _warm_up()
        for step in steps:  # as far as the first broker needs it; the others follow in idle time
            if step == _MODULES[-1]:
                break
        self._print_ready(as_json=as_json)
        used_s = time.monotonic()
        is_warm = False
        gc.disable()
        gc.collect()
        gc.freeze()  # a collection in a broker then does not touch, and so copy, these objects
        while not self._ends:
            wait_s = _left(idle_s, used_s) if not self._brokers else None
            found = poll.poll(0 if not is_warm else None if wait_s is None else wait_s * 1000)
            ready = {number for number, _ in found}
            if self._wake.fileno() in ready:
                self._reap()
                used_s = time.monotonic()
            if self._listening.fileno() in ready:
                self._accept()
                used_s = time.monotonic()
            elif not found and not is_warm:
                is_warm = next(steps, None) is None
                gc.freeze()
            if until_stdin_ends and sys.stdin.fileno() in ready:
                self._ends = not os.read(sys.stdin.fileno(), 4096)
            if not self._brokers and _left(idle_s, used_s) == 0:
                self._ends = True
        return 0

    def _print_ready(self, *, as_json: bool) -> None:
        path = self._listening.getsockname()
        line = f"ottla template listens on {path}"
        if as_json:
            line = json.dumps({"socket": path, "pid": os.getpid()})
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def _take_signals(self) -> None:
        self._wake.setblocking(False)
        self._waking.setblocking(False)
        signal.set_wakeup_fd(self._waking.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in ENDING_SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self._end)

    def _end(self, *_: object) -> None:
        self._ends = True

    def _reap(self) -> None:
        """Tell the status of each broker that ended to its client."""
        with suppress(BlockingIOError):
            while self._wake.recv(4096):
                pass
        for pid in list(self._brokers):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                connection = self._brokers.pop(pid)
                _tell(connection, {"exit": os.waitstatus_to_exitcode(status)})
                connection.close()

    def _accept(self) -> None:
        connection, _ = self._listening.accept()
        streams: list[int] = []
        try:
            request = _read_request(connection, streams)
        except (OSError, ValueError, KeyError, TypeError) as wrong:
            _tell(connection, {"error": f"{type(wrong).__name__}: {wrong}"})
            connection.close()
        else:
            self._fork(connection, request, streams)
        finally:
            for each in streams:
                os.close(each)

    def _fork(self, connection: socket.socket, request: dict[str, Any], streams: list[int]) -> None:
        # A signal between the fork and the reset of its handler would be lost in the broker.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            pid = os.fork()
        except OSError as failed:  # no more processes, or no memory
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            _tell(connection, {"error": f"cannot fork: {failed}"})
            connection.close()
            return
        if not pid:
            self._become_broker(connection, request, streams)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        self._brokers[pid] = connection
        _tell(connection, {"pid": pid})

    def _become_broker(
        self, connection: socket.socket, request: dict[str, Any], streams: list[int]
    ) -> NoReturn:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in _SIGNALS:
                if signal.getsignal(number) == signal.SIG_IGN:
                    continue  # nohup
                default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
                signal.signal(number, default)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            for each in (self._listening, self._wake, self._waking, *self._brokers.values()):
                each.close()
            status = _run_broker(connection, request, streams, self._serve)
        except SystemExit as ended:  # argparse's, for wrong arguments
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)


def _run_broker(
    connection: socket.socket, request: dict[str, Any], streams: list[int], serve: Serve
) -> int:
    """What exec does: process group, streams, environment, directory. Then run the broker."""
    os.setpgid(0, 0)
    os.umask(request["umask"])
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    for target, stream in enumerate(streams, start=1):
        os.dup2(stream, target)
        os.close(stream)
    arguments = list(request["arguments"])
    if request["ends_with_connection"]:
        os.dup2(connection.fileno(), 0)
        arguments.append("--until-stdin-ends")
    else:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def tell_ready(ready: Mapping[str, object]) -> None:
        _tell(connection, {"ready": ready})
        connection.close()

    return serve(arguments, tell_ready)


def _read_request(connection: socket.socket, streams: list[int]) -> dict[str, Any]:
    """The request, with its types checked; appends the received descriptors to `streams`."""
    connection.settimeout(_REQUEST_TIMEOUT_S)
    line = bytearray()
    while not line.endswith(b"\n"):
        data, received, _, _ = socket.recv_fds(connection, 1 << 16, _STREAMS)
        streams += received
        line += data
        if not data or len(line) > REQUEST_BYTES:
            raise ValueError("one line of JSON was expected")
    connection.settimeout(None)
    request: dict[str, Any] = json.loads(line)
    if len(streams) != _STREAMS:
        raise ValueError("two descriptors were expected: standard output and error")
    kinds = {"arguments": list, "environment": dict, "directory": str, "umask": int,
             "ends_with_connection": bool}  # fmt: skip
    for name, kind in kinds.items():
        if not isinstance(request[name], kind):
            raise TypeError(f"{name} is no {kind.__name__}")
    return request


def _tell(connection: socket.socket, answer: Mapping[str, object]) -> None:
    with suppress(OSError):  # the client is gone
        connection.sendall(json.dumps(answer).encode() + b"\n")


def _left(idle_s: float, used_s: float) -> float | None:
    """Seconds until the idle time is over; None without a limit."""
    return max(0.0, used_s + idle_s - time.monotonic()) if idle_s else None


def _warm_up() -> Iterator[str]:
    """Make ready, in short steps, what a broker needs until its first answers, and then others."""
    from importlib import import_module

    for module in _MODULES:
        import_module(module)
        yield module
    from ..broker.requests.dispatch import api_of
    from ..broker.requests.served_apis import HANDLERS
    from ..metadata import records
    from ..protocol import lazy_dataclass
    from ..protocol.api_keys import ApiKey
    from ..protocol.messages import prepare

    yield from records.prepare()
    yield from lazy_dataclass.prepare()
    for api_key, served in HANDLERS.items():
        api_of(api_key)
        yield served.module
    usual = [ApiKey[name] for name in _USUAL]
    for api_key in usual:
        served = HANDLERS[api_key]
        for version in range(served.highest, max(served.lowest, served.closed_below) - 1, -1):
            prepare(api_key, version)
            yield f"{api_key.name} {version}"
