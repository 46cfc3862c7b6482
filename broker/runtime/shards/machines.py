"""The states of a shard, and the interfaces of the state machines that it runs."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from ....coordinator.moment import Moment
from ....coordinator.outcome import Outcome, Producer

Record: TypeAlias = Any  # Any: each machine has kinds of its own
"""A record of the log of a machine."""


class State(Enum):
    """What a shard does with requests."""

    LOADING = "it refuses them until its log is replayed"
    OPEN = "it decides on them"
    CLOSED = "it is unloaded, and refuses them"


MAY_FOLLOW: Final[Mapping[State, frozenset[State]]] = {
    State.LOADING: frozenset({State.LOADING, State.OPEN}),
    State.OPEN: frozenset({State.LOADING}),
    State.CLOSED: frozenset(State),
}
"""Each state of a shard with those it may follow."""


class Machine(Protocol):
    """The interface of a state machine that a shard runs."""

    def replay(self, record: Record) -> None: ...
    def next_deadline(self, now: Moment) -> int | None:
        """The monotonic time of the next `tick`; None for never."""

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        """The decisions that are due, one at a time.

        Each is appended as a batch of its own and replayed before the next one is made, like each
        timer in Kafka. The caller may stop after any of them: the rest stays due.
        """


@runtime_checkable
class PendingMachine(Machine, Protocol):
    """A machine with records that are pending until their transaction ends."""

    def replay_pending(self, record: Record, producer: Producer) -> None: ...
    def replay_marker(self, producer: Producer, *, commit: bool) -> None:
        """Keep or drop the pending records of a producer. This changes no deadline."""


@runtime_checkable
class ReplaysAtOffsets(Machine, Protocol):
    """A machine that must know where its records are in the log."""

    def replay_at(self, record: Record, offset: int) -> None: ...


@runtime_checkable
class ReplaysMany(Machine, Protocol):
    """A machine that replays the records of one large decision faster than each alone."""

    def replay_many(self, records: Sequence[Record], producer: Producer | None) -> None:
        """Apply the records; with a producer they are pending."""
