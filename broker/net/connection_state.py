"""The states of a client's connection, and the steps between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class State(Enum):
    """How far a connection is. Whether it reads, writes or waits is another matter."""

    ACCEPTED = "the socket is accepted and has no transport yet"
    ABANDONED = "it must end as soon as it has its transport"
    OPEN = "it serves requests"
    AT_END = "the client has closed its sending side; its earlier requests are served"
    ENDING = "it serves no further requests, and ends once what it has to send is sent"


MAY_FOLLOW: Final[Mapping[State, frozenset[State]]] = {
    State.ACCEPTED: frozenset(),
    State.ABANDONED: frozenset({State.ACCEPTED, State.ABANDONED}),
    State.OPEN: frozenset({State.ACCEPTED}),
    State.AT_END: frozenset({State.OPEN}),
    State.ENDING: frozenset(State),  # it may be lost at any time
}
"""Each state with those it may follow."""
