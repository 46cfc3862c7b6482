"""The types of the broker's events: requests, decisions, appends, leaders, connections.

`event_stream.py` passes them to observers. A module imports a type where it makes the event, since
a broker without observers needs none of these classes. Events of files are in
`storage/disk/file_events.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..coordinator.outcome import Outcome, Producer
    from ..metadata.records import MetadataRecord
    from ..protocol.api_keys import ApiKey
    from ..protocol.errors import Code
    from ..storage.disk.file_events import FileEvent


class ConnectionOpened(NamedTuple):
    """A client has connected to a listener.

    Attributes:
        node_id: of the node that listens.
        connection_id: as in Kafka: local address, remote address and a number.
        listener: the name of the listener.
    """

    node_id: int
    connection_id: str
    listener: str


class ConnectionClosed(NamedTuple):
    """A connection was closed, by the client or by the broker."""

    node_id: int
    connection_id: str


class RequestReceived(NamedTuple):
    """A whole request is received, and its API and version are served.

    An ApiVersions request of any version is served; an unknown version gets UNSUPPORTED_VERSION.

    Attributes:
        connection_id: as in `ConnectionOpened`.
    """

    node_id: int
    connection_id: str
    client_id: str | None
    api_key: ApiKey
    version: int
    correlation_id: int


class RequestAnswered(NamedTuple):
    """The answer to a request is encoded and is sent next; a Produce with acks=0 has no answer.

    Attributes:
        node_id, ..., correlation_id: those of its `RequestReceived`.
    """

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
        outcome: the records, the reply and the effects. If the log refuses a later batch of a
            decision in several batches, only the records before it, and no effects.
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
    """A coordinator has refused a request, or its log has refused the records of a decision."""

    node_id: int
    topic: str
    partition: int
    code: Code


class GroupTransition(NamedTuple):
    """A group has entered another state, in memory or by the records of a decision.

    A new group begins in the state Empty, and a deleted group ends in the state Dead. Transitions
    by a decision follow its `DecisionAppended`.

    Attributes:
        group_type: `classic` or `consumer` (KIP-848), as in the answer to ListGroups.
        before, after: the states, by the names that clients see.
    """

    node_id: int
    group_id: str
    group_type: str
    before: str
    after: str


class GroupConverted(NamedTuple):
    """A decision has converted a group to the other type (KIP-848, upgrade and downgrade).

    An empty group that gives way to a group of the other type is converted too.

    Attributes:
        before_type, after_type: `classic` or `consumer`.
        before, after: the states, by the names that clients see.
    """

    node_id: int
    group_id: str
    before_type: str
    after_type: str
    before: str
    after: str


class RecordsAppended(NamedTuple):
    """Records are in the log of a partition, or of the metadata; for markers: `MarkerAppended`.

    Attributes:
        log_end_offset: the offset after the last of them.
    """

    topic: str
    partition: int
    log_end_offset: int


class MarkerAppended(NamedTuple):
    """A transaction's marker is in the log of a partition.

    Attributes:
        log_end_offset: the offset after the marker.
    """

    topic: str
    partition: int
    producer: Producer
    commit: bool
    coordinator_epoch: int
    log_end_offset: int


class RecordsDeleted(NamedTuple):
    """DeleteRecords has moved the start of a partition's log.

    Attributes:
        log_start_offset: the new start.
    """

    topic: str
    partition: int
    log_start_offset: int


class MetadataDecisionAppended(NamedTuple):
    """A decision of the controller is in the metadata log and replayed into the catalog.

    Attributes:
        base_offset: of the first record.
        records: of the decision.
    """

    base_offset: int
    records: tuple[MetadataRecord, ...]


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


class ClockAdvanced(NamedTuple):
    """A test lets time pass, with a clock that it moves; what becomes due follows.

    Attributes:
        moved_by: who moves it, as they say; None if they do not.
    """

    by_ms: int
    moved_by: str | None = None


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
    | GroupConverted
    | RecordsAppended
    | MarkerAppended
    | RecordsDeleted
    | MetadataDecisionAppended
    | OffsetsMaterialized
    | LeadersChanged
    | ClockAdvanced
    | ClockJumped
)
Observer = Callable[["Event | FileEvent"], None]
