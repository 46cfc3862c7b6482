"""What a broker sets for its process: its signals, and the limit of open files.

SIGQUIT prints the stacks of all threads on stderr and the broker goes on, as a JVM does with its
thread dump. The other signals that a user, a shell or a container's engine sends to end a process
stop it cleanly; only SIGKILL does not.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_ON_LINUX: Final = ("SIGPWR",)  # the engine LXC halts a container with it
ENDING_SIGNALS: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXCPU,  # `ulimit -t`
    *(signal.Signals[name] for name in _ON_LINUX if name in signal.Signals.__members__),
)
_STDERR: Final = 2
_LEAST_DESCRIPTORS: Final = 20  # a start opens 19


def raise_descriptor_limit() -> None:
    """Raise it to the hard limit: each connection and each partition in use needs a descriptor.

    Raises:
        TooFewDescriptors: a broker cannot start; an event loop that fails then prints a traceback.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    if soft != resource.RLIM_INFINITY and soft < _LEAST_DESCRIPTORS:
        raise TooFewDescriptors(
            f"the process may open {soft} files (ulimit -n), a broker needs at least "
            f"{_LEAST_DESCRIPTORS}"
        )


class TooFewDescriptors(Exception):
    """The limit of open files is too low for a broker; the text says so."""


def call_at_ending_signals(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call a function at each signal that ends the process; print the stacks at SIGQUIT.

    A parent that blocks them for itself does not do so for its broker: Java unblocks them, too.

    Args:
        loop: the running event loop, of the main thread.
        call: takes no argument; it may be called again.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*ENDING_SIGNALS, signal.SIGQUIT))
    for number in ENDING_SIGNALS:
        if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
            continue  # nohup
        loop.add_signal_handler(number, call)
    import faulthandler

    with suppress(OSError, RuntimeError):  # no stderr
        # By C code, so that it answers for a loop that hangs, too.
        faulthandler.register(signal.SIGQUIT, file=_STDERR)
