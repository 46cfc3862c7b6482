"""What is known of a cluster at one moment: the input of all sentences.

Offsets and times that a broker did not tell are None. Nothing here sends a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Place: TypeAlias = tuple[str, int]
"""A topic and the index of one of its partitions."""
CONSUMERS: Final = "consumer"
"""The protocol type of classic groups of consumers."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the question is about; without any of them it is the whole cluster.

    Attributes:
        partition: of the topic; None for all of them.
    """

    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether the question names nothing."""
        return self.topic is None and self.group is None and self.transactional_id is None

    def __str__(self) -> str:
        if self.topic is not None:
            return self.topic if self.partition is None else f"{self.topic}-{self.partition}"
        if self.group is not None:
            return f"group {self.group}"
        if self.transactional_id is not None:
            return f"transactional id {self.transactional_id}"
        return "the cluster"


@dataclass(frozen=True, slots=True)
class OpenProducer:
    """A producer with an open transaction in a partition (DescribeProducers).

    Attributes:
        first_offset: of the transaction in this partition.
        last_timestamp_ms: of its newest record.
    """

    producer_id: int
    epoch: int
    first_offset: int
    last_timestamp_ms: int = -1
    coordinator_epoch: int = -1


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """A partition as its leader and the metadata have it.

    Attributes:
        leader: -1 if there is none.
        min_in_sync: min.insync.replicas, asked only while replicas are missing.
        producers: those with open transactions, asked only if the last stable offset lags.
    """

    leader: int
    replicas: tuple[int, ...] = ()
    in_sync: tuple[int, ...] = ()
    log_start: int | None = None
    last_stable: int | None = None
    high_watermark: int | None = None
    producers: tuple[OpenProducer, ...] = ()
    min_in_sync: int | None = None

    @property
    def is_unstable(self) -> bool:
        """Whether a read_committed reader stops before the end."""
        return (
            self.last_stable is not None
            and self.high_watermark is not None
            and self.last_stable < self.high_watermark
        )


@dataclass(frozen=True, slots=True)
class TransactionFacts:
    """A transactional id as its coordinator describes it.

    Attributes:
        started_ms: wall time; -1 if there was none.
        partitions: of the open transaction; the offsets of groups are in `__consumer_offsets`.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    partitions: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """A member of a group of any kind.

    Attributes:
        epoch, target: of the new protocols; None in a classic group.
        subscribed: names of topics, as far as the group tells them.
        session_ms, session_left_ms: of its session.
        has_joined, has_synced: whether it has done so in the rebalance that is under way.
        revocation_left_ms: until it is removed for partitions that it does not give up.
    """

    member_id: str
    client_id: str = ""
    instance_id: str | None = None
    assigned: tuple[Place, ...] = ()
    target: tuple[Place, ...] | None = None
    epoch: int | None = None
    subscribed: tuple[str, ...] = ()
    session_ms: int | None = None
    session_left_ms: int | None = None
    has_joined: bool | None = None
    has_synced: bool | None = None
    revocation_left_ms: int | None = None

    @property
    def silent_ms(self) -> int | None:
        """The time since its last heartbeat, if the coordinator tells it."""
        if self.session_ms is None or self.session_left_ms is None:
            return None
        return max(0, self.session_ms - self.session_left_ms)


@dataclass(frozen=True, slots=True)
class Rest:
    """What is between a committed offset and the last stable offset of a partition.

    Attributes:
        readable: records that a read_committed reader gets.
        markers, aborted: control records, and records that it skips.
        is_whole: whether all of it was looked at; else there are at least so many.
    """

    readable: int = 0
    markers: int = 0
    aborted: int = 0
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group of any kind.

    Attributes:
        kind: Classic, Consumer, Share or Streams.
        epoch, target_epoch: of the new protocols.
        committed: offsets; of a share group the start offsets.
        unstable: partitions whose offsets are pending in an open transaction.
        offsets_partition: of `__consumer_offsets` that has the group; None if unknown.
        protocol_type: of a classic group; workers of Kafka Connect have `connect`.
        rest: what is left to read, for groups that the question names.
        lags: of a share group, as its coordinator counts them.
        rebalance_left_ms, rebalance_ms: until those who have not joined are left out.
        is_initial_delay: the rebalance is the first of an empty group.
        is_old: its rebalance was the same at a second look.
        pending_members: have an id, and have not joined with it.
        subscribed: topics of all members, beside those that members tell.
        error: why the coordinator does not describe it; empty if it does.
    """

    group_id: str
    kind: str
    state: str
    members: tuple[MemberFacts, ...] = ()
    epoch: int | None = None
    target_epoch: int | None = None
    committed: Mapping[Place, int] = field(default_factory=dict)
    unstable: frozenset[Place] = frozenset()
    offsets_partition: int | None = None
    protocol_type: str = CONSUMERS
    rest: Mapping[Place, Rest] = field(default_factory=dict)
    lags: Mapping[Place, int] = field(default_factory=dict)
    rebalance_left_ms: int | None = None
    rebalance_ms: int | None = None
    is_initial_delay: bool = False
    is_old: bool = False
    pending_members: tuple[str, ...] = ()
    subscribed: tuple[str, ...] = ()
    error: str = ""

    def concerns(self, topic: str) -> bool:
        """Whether it is known to read a topic, or to have read it."""
        topics = {*self.subscribed}
        topics |= {name for name, _ in self.committed}
        for each in self.members:
            topics |= {*each.subscribed, *(name for name, _ in each.assigned)}
        return topic in topics


@dataclass(frozen=True, slots=True)
class FaultRule:
    """A rule of the lab."""

    number: int
    kind: str
    name: str = ""
    match: str = ""
    fired: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class Throttle:
    """A client that is over a quota: its connection is not read (KIP-219)."""

    client_id: str
    user: str
    left_ms: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that the broker refused lately, by its trace.

    Attributes:
        ago_ms: since the answer.
        subject: the transactional id, group or partition that it named, with its word.
        details: what it named besides, such as generation and member.
    """

    api: str
    code: str
    client_id: str
    ago_ms: int
    subject: str = ""
    details: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class SharedRecords:
    """Records that a share group has under way in a partition.

    Attributes:
        state: AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING or ARCHIVED.
        lock_left_ms: until the lock of a member ends; None without a lock.
    """

    group_id: str
    place: Place
    first_offset: int
    last_offset: int
    state: str
    delivery_count: int = 0
    member_id: str | None = None
    lock_left_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known, and what could not be asked.

    Attributes:
        now_ms: the wall time of the broker; of this machine if the broker does not tell it.
        is_clock_manual: whether the broker's time stands still until a test moves it.
        nodes: ids of running nodes; fenced_nodes: known ones that do not run.
        missing: topics and partitions that the question names and that do not exist.
        knows_all_transactions: whether each coordinator told its open transactions.
        rest: what a read_committed reader gets of the partitions of a topic that is asked about.
        unasked: what could not be asked, and why: a line each.
    """

    subject: Subject = field(default_factory=Subject)
    now_ms: int = 0
    is_clock_manual: bool = False
    nodes: tuple[int, ...] = ()
    fenced_nodes: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()
    partitions: Mapping[Place, PartitionFacts] = field(default_factory=dict)
    transactions: Mapping[str, TransactionFacts] = field(default_factory=dict)
    knows_all_transactions: bool = True
    groups: Mapping[str, GroupFacts] = field(default_factory=dict)
    rest: Mapping[Place, Rest] = field(default_factory=dict)
    faults: tuple[FaultRule, ...] = ()
    throttles: tuple[Throttle, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    shared_records: tuple[SharedRecords, ...] = ()
    unasked: tuple[str, ...] = ()
