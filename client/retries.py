"""Repeats requests that a cluster refuses for a moment, as Kafka's clients do."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from ..protocol.errors import Code
from .cluster_client import ErrorAnswer

COORDINATOR_MOVES: Final = frozenset(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,  # its topic is being created
        Code.NOT_COORDINATOR,
    }
)
LEADER_MOVES: Final = frozenset({Code.LEADER_NOT_AVAILABLE, Code.NOT_LEADER_OR_FOLLOWER})
PATIENCE_S: Final = 30.0
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
            deadline = time.monotonic() + patience_s
            while True:
                try:
                    return function(*args, **kwargs)
                except ErrorAnswer as refused:
                    if refused.code not in codes or time.monotonic() > deadline:
                        raise
                time.sleep(_PAUSE_S)

        return repeated

    return decorator
