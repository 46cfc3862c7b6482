"""How long a start takes: until a broker answers Metadata, and how much of that is the engine's.

The limit is one of the processor's time, which other work of the machine does not lengthen.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ottla.serving.health import examined

from .engine import IMAGE, PATIENCE_S, Failed, call, say, try_call

ROUNDS = 7
LIMIT_CPU_S = 0.2
PORT = 9092
_NAME = "ottla-start"
_PAUSE_S = 0.001


class Start(NamedTuple):
    """Seconds of a start: until the container is there, and of its process on a processor."""

    wall_s: float
    cpu_s: float


def check() -> None:
    """Print the times; the engine's own is that of a program in the image which only listens.

    Raises:
        Failed: in all rounds the broker's process needs more of the processor than the limit.
    """
    engine = _fastest(("busybox", "nc", "-l", "-p", str(PORT)), _accepts)
    broker = _fastest(("serve",), _answers)
    own_s = broker.wall_s - engine.wall_s
    say(
        f"the first answer to Metadata comes {broker.wall_s:.2f} s after `start`, in the best of"
        f" {ROUNDS}: {engine.wall_s:.2f} s for the engine, {own_s:.2f} s for the broker, which"
        f" needs {broker.cpu_s:.2f} s of the processor"
    )
    if broker.cpu_s > LIMIT_CPU_S:
        raise Failed(f"the broker's start needs more than {LIMIT_CPU_S} s of the processor")


def _fastest(command: tuple[str, ...], is_there: Callable[[], bool]) -> Start:
    starts = [_start(command, is_there) for _ in range(ROUNDS)]
    return Start(min(each.wall_s for each in starts), min(each.cpu_s for each in starts))


def _start(command: tuple[str, ...], is_there: Callable[[], bool]) -> Start:
    try_call("rm", "-f", "-t", "0", _NAME)
    call("create", "--name", _NAME, "--network=host", IMAGE, *command)
    try:
        began = time.monotonic()
        call("start", _NAME)
        while not is_there():
            if time.monotonic() - began > PATIENCE_S:
                raise Failed(f"{' '.join(command)} does not answer:\n{call('logs', _NAME)}")
            time.sleep(_PAUSE_S)
        wall_s = time.monotonic() - began
        return Start(wall_s, _cpu_s(call("inspect", "--format", "{{.State.Pid}}", _NAME).strip()))
    finally:
        try_call("rm", "-f", "-t", "0", _NAME)


def _cpu_s(pid: str) -> float:
    """What a process has had of the processors; 0 if it has ended, as one that listens once."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _accepts() -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", PORT), timeout=1):
        return True
    return False


def _answers() -> bool:
    trouble, cluster = examined("127.0.0.1", PORT, timeout_s=1)
    return trouble is None and cluster is not None
