"""How long a start takes: until a broker answers Metadata, and how much of that is the engine's."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress

from ottla.serving.health import examined

from .engine import IMAGE, PATIENCE_S, Failed, call, say, try_call

ROUNDS = 7
LIMIT_OWN_S = 0.2
PORT = 9092
_NAME = "ottla-start"
_PAUSE_S = 0.001


def check() -> None:
    """Print the times; the engine's own is that of a program in the image which only listens.

    Raises:
        Failed: what the broker adds to the engine's time is above the limit, in all rounds.
    """
    engine_s = min(_started(("busybox", "nc", "-l", "-p", str(PORT)), _accepts))
    total_s = min(_started(("serve",), _answers))
    own_s = total_s - engine_s
    say(
        f"the first answer to Metadata comes {total_s:.2f} s after `start` (best of {ROUNDS}):"
        f" {engine_s:.2f} s for the engine, {own_s:.2f} s for the broker"
    )
    if own_s > LIMIT_OWN_S:
        raise Failed(f"the broker's start takes longer than {LIMIT_OWN_S} s")


def _started(command: tuple[str, ...], is_there: Callable[[], bool]) -> list[float]:
    """Seconds from `start` until a container is there, in each round."""
    times_s = []
    for _ in range(ROUNDS):
        try_call("rm", "-f", "-t", "0", _NAME)
        call("create", "--name", _NAME, "--network=host", IMAGE, *command)
        try:
            began = time.monotonic()
            call("start", _NAME)
            while not is_there():
                if time.monotonic() - began > PATIENCE_S:
                    raise Failed(f"{' '.join(command)} does not answer:\n{call('logs', _NAME)}")
                time.sleep(_PAUSE_S)
            times_s.append(time.monotonic() - began)
        finally:
            try_call("rm", "-f", "-t", "0", _NAME)
    return times_s


def _accepts() -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", PORT), timeout=1):
        return True
    return False


def _answers() -> bool:
    trouble, cluster = examined("127.0.0.1", PORT, timeout_s=1)
    return trouble is None and cluster is not None
