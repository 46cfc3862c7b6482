"""The events of the broker, for the observers of `event_stream.py`.

Imported where an event is made, since a broker without observers needs none of these classes.
Events of files are in `storage/file_events.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..coordinator.outcome import Outcome, Producer
    from ..protocol.api_keys import ApiKey
    from ..protocol.errors import Code
    from ..storage.file_events import FileEvent


class ConnectionOpened(NamedTuple):
    """A client has connected to a listener."""

    node_id: int
    connection_id: str
    listener: str


class ConnectionClosed(NamedTuple):
    """A connection was closed, by the client or by the broker."""

    node_id: int
    connection_id: str


class RequestReceived(NamedTuple):
    """A request has come whole, and its API and version are served."""

    node_id: int
    connection_id: str
    client_id: str | None
    api_key: ApiKey
    version: int
    correlation_id: int


class RequestAnswered(NamedTuple):
    """The answer to a request is encoded, and is sent next; also where the client wants none."""

    node_id: int
    connection_id: str
    client_id: str | None
    api_key: ApiKey
    version: int
    correlation_id: int


class DecisionAppended(NamedTuple):
    """A coordinator's decision is in its log and replayed; its effects and reply follow.

    Attributes:
        topic, partition: of the log.
        outcome: the records, the reply and the effects.
        now_ms: the wall time of the decision.
        by_timer: no request asked for it.
    """

    node_id: int
    topic: str
    partition: int
    outcome: Outcome[object]
    now_ms: int
    by_timer: bool


class DecisionRefused(NamedTuple):
    """A coordinator has refused a request."""

    node_id: int
    topic: str
    partition: int
    code: Code


class GroupTransition(NamedTuple):
    """A classic group has entered another state, in memory or by a record.

    Attributes:
        before, after: the states, by the names that clients see.
    """

    node_id: int
    group_id: str
    before: str
    after: str


class RecordsAppended(NamedTuple):
    """Records or a marker are in the log of a partition.

    Attributes:
        log_end_offset: behind them.
    """

    topic: str
    partition: int
    log_end_offset: int


class MarkerAppended(NamedTuple):
    """A transaction's marker is in the log of a partition."""

    topic: str
    partition: int
    producer: Producer
    commit: bool
    coordinator_epoch: int


class OffsetsMaterialized(NamedTuple):
    """A marker has made a transaction's pending offsets the group's, or dropped them."""

    partition: int
    producer: Producer
    commit: bool


class LeadersChanged(NamedTuple):
    """Partitions of a topic may have other leaders.

    Attributes:
        leaders: leader id and leader epoch of each partition.
    """

    topic: str
    leaders: tuple[tuple[int, int], ...]


class ClockJumped(NamedTuple):
    """The wall clock was set forward or back."""

    by_ms: int


Event = (
    ConnectionOpened
    | ConnectionClosed
    | RequestReceived
    | RequestAnswered
    | DecisionAppended
    | DecisionRefused
    | GroupTransition
    | RecordsAppended
    | MarkerAppended
    | OffsetsMaterialized
    | LeadersChanged
    | ClockJumped
)
Observer = Callable[["Event | FileEvent"], None]
