"""The result of a decision of a state machine: an `Outcome` of records, effects and a reply.

The shard (`broker/runtime/shards/shard.py`) appends the records, has the machine replay them,
carries out the effects and replies. Durable state changes by the replay alone; see `volatile.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from ..protocol.batch import Framed
from ..protocol.errors import Code
from ..protocol.lazy_dataclass import dataclass

Reply = TypeVar("Reply", covariant=True)


class Producer(NamedTuple):
    """A producer id with its epoch; both are -1 for none."""

    producer_id: int
    producer_epoch: int

    def __str__(self) -> str:
        return f"producer {self.producer_id} with epoch {self.producer_epoch}"


class Effect:
    """An action that follows once the records are in the log.

    Attributes:
        of_kind: the kind of group (`GROUP_KINDS`) that alone has the effect; empty for none.
    """

    __slots__ = ()
    of_kind: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Answer(Effect):
    """A request that was parked under `ticket` now has its reply.

    Attributes:
        ticket: the number under which the shard keeps the parked request.
        send_even_if_not_logged: the answer does not depend on the records of the outcome, and is
            sent even if the log refuses them.
    """

    ticket: int
    reply: Any  # Any: of the type that the parked request has
    send_even_if_not_logged: bool = False


@dataclass(frozen=True, slots=True)
class Notice(Effect):
    """Something that the log tells people; it changes nothing.

    Attributes:
        what: the line, one of a few.
        group_id: the group that it is about.
        fields: further fields of the line.
    """

    what: str
    group_id: str
    fields: Mapping[str, object]


class Parked:
    """The type of `PARKED`."""

    __slots__ = ()


PARKED: Final = Parked()
"""The reply of a request that waits for an `Answer` with its ticket."""


class Outcome(NamedTuple, Generic[Reply]):
    """The result of a decision: log the records, replay them, reply, carry out the effects.

    Attributes:
        reply: of the request; `PARKED` if a later `Answer` brings it.
        records: appended to the log as one batch, then replayed one by one.
        effects: actions after the replay, in order.
        is_atomic: whether the log takes all records or none. If False, each record is valid
            without the others: they may become several batches, so that any number of them fits
            (CoordinatorResult's `isAtomic` in Kafka).
        if_refused: makes another decision, without records, if the log refuses these records; its
            argument is the error code for clients. None: the request is refused with that code.
        framed: the records, if they were encoded before the decision; only if it is atomic.
        producer: when set, the batch is transactional under this producer id and epoch, and the
            records are pending until its marker (offsets committed in a transaction).
    """

    reply: Reply
    records: tuple[Any, ...] = ()  # Any: each machine has records of its own
    effects: tuple[Effect, ...] = ()
    producer: Producer | None = None
    is_atomic: bool = True
    # Any: it is set before the type of the reply is known.
    if_refused: Callable[[Code], Outcome[Any]] | None = None
    framed: Framed | None = None
