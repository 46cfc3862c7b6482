"""Repeats requests that a cluster refuses for a moment, as Kafka's clients do."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, wraps
from typing import Final, ParamSpec, TypeVar

from ..protocol.errors import Code
from .cluster_client import ErrorAnswer, LoginFailed, NoAnswer

COORDINATOR_MOVES: Final = frozenset(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,  # its topic is being created
        Code.NOT_COORDINATOR,
    }
)
LEADER_MOVES: Final = frozenset({Code.LEADER_NOT_AVAILABLE, Code.NOT_LEADER_OR_FOLLOWER})
BROKER_RESTARTS: Final = (
    COORDINATOR_MOVES
    | LEADER_MOVES
    | {
        Code.CONCURRENT_TRANSACTIONS,
        Code.UNKNOWN_TOPIC_OR_PARTITION,  # a restarted broker may not know it yet
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.OFFSET_NOT_AVAILABLE,
    }
)
PATIENCE_S: Final = 30.0
_RESTART_S: Final = 60.0
_PAUSE_S: Final = 0.02

_P = ParamSpec("_P")
_T = TypeVar("_T")


def retried(
    codes: frozenset[Code], patience_s: float = PATIENCE_S
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """A decorator: call the function again while it raises ErrorAnswer with one of these codes.

    Args:
        patience_s: afterwards the error is raised.
    """

    def decorator(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def repeated(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            return _repeat(partial(function, *args, **kwargs), codes, patience_s)

        return repeated

    return decorator


def patiently(function: Callable[[], _T], patience_s: float = _RESTART_S) -> _T:
    """Call a function again while brokers restart: they are away, or leaders and coordinators move.

    Raises:
        ErrorAnswer, NoAnswer: the last error, after `patience_s`; other refusals and LoginFailed at
            once.
    """
    return _repeat(function, BROKER_RESTARTS, patience_s, and_lost=True)


def _repeat(
    function: Callable[[], _T], codes: frozenset[Code], patience_s: float, *, and_lost: bool = False
) -> _T:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return function()
        except LoginFailed:
            raise
        except (ErrorAnswer, NoAnswer) as failed:
            waits = failed.code in codes if isinstance(failed, ErrorAnswer) else and_lost
            if not waits or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_S)
