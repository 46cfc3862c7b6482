"""Consumer groups (KIP-848): ConsumerGroupHeartbeat, leaving, replay and timers.

Follows Kafka's GroupMetadataManager. A decision changes volatile state only (`../volatile.py`); the
group changes by replay. A heartbeat without changes costs a few look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

from ...protocol.errors import Code, Refused
from ...protocol.lazy_dataclass import dataclass
from ..deadlines import Timer, TimerKey
from ..group_kinds import CONSUMER
from ..group_records import GroupRemoved
from ..modern_groups import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
    MemberState,
    ModernGroups,
    check_released,
)
from ..moment import Moment
from ..outcome import Outcome
from .group import ConsumerGroup
from .member import NOTHING, ConsumerMember
from .migration import make_classic_group, upgraded
from .reconcile import kept_epochs
from .records import (
    ConsumerRecord,
    ConsumerRemoved,
    Kind,
    ResolvedRegex,
    TargetEpoch,
    current,
)
from .regexes import Found, MatchTopics
from .requests import (
    ConsumerGroupSettings,
    DescribedConsumerGroup,
    GroupLimits,
    HeartbeatReply,
    HeartbeatRequest,
)
from .steps import ConsumerTurn, Steps, check_epoch, removal
from .topics import NoTopics, Topics, metadata_hash

if TYPE_CHECKING:
    from ..classic.groups import ClassicGroups


@dataclass(frozen=True, slots=True)
class ConsumerSetup:
    """The services and settings that consumer groups get from their broker.

    Attributes:
        topics: the topics of the cluster, as a live view.
        own_limits_of: the limits of a group, by its id; None: `settings` applies to all groups.
        first_epoch: of a group before its first member; 0 before Kafka 4.3.
    """

    settings: ConsumerGroupSettings = field(default_factory=ConsumerGroupSettings)
    topics: Topics = field(default_factory=NoTopics)
    own_limits_of: Callable[[str], GroupLimits] | None = None
    first_epoch: int = 1

    @property
    def limits_of(self) -> Callable[[str], GroupLimits]:
        """A function from a group id to the limits of the group."""
        if self.own_limits_of is not None:
            return self.own_limits_of
        settings = self.settings
        usual = GroupLimits(
            settings.session_timeout_ms,
            settings.heartbeat_interval_ms,
            settings.assignment_interval_ms,
        )
        return lambda group_id: usual


class ConsumerGroups(ModernGroups[ConsumerGroup, ConsumerRecord, ConsumerTurn]):
    """The consumer groups of one partition of `__consumer_offsets`.

    Args:
        setup: services and settings of the broker.
        classic: the classic groups of the same partition; a group may change its kind.
        max_classic_size: group.max.size: a larger group does not become a classic one.
    """

    kind_name = CONSUMER
    group_key = Kind.GROUP
    member_key = Kind.MEMBER
    member_timers = (Timer.SESSION, Timer.REBALANCE, Timer.JOIN, Timer.SYNC)

    def __init__(
        self, setup: ConsumerSetup, *, classic: ClassicGroups, max_classic_size: int
    ) -> None:
        super().__init__(ConsumerGroup, ConsumerTurn)
        self._settings = setup.settings
        self._topics = setup.topics
        self._limits_of = setup.limits_of
        self._first_epoch = setup.first_epoch
        self._classic = classic
        self._max_classic_size = max_classic_size
        self.steps = Steps(setup.settings, setup.topics, self._limits_of, self.deadlines)

    # ---- ConsumerGroupHeartbeat

    def heartbeat(self, request: HeartbeatRequest, *, now: Moment) -> Outcome[HeartbeatReply]:
        """ConsumerGroupHeartbeat (68): join, take the next step, or leave.

        Raises:
            Refused: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
                FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID,
                GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION.
        """
        check_request(request, self._settings.assignors)
        if request.member_epoch < JOINING_EPOCH:
            return self._leave(request, ConsumerTurn(now))
        group = self.groups.get(request.group_id)
        if group is None or request.member_epoch == JOINING_EPOCH:
            return self._join(group, request, ConsumerTurn(now))
        if request.member_id not in group.members:
            self.steps.check_room(group)
        old = group.check_member(request.member_id, request.instance_id)
        if request.member_epoch != old.member_epoch:
            check_epoch(old, request.member_epoch, request.owned)
        new = _updated(old, request)
        if new is old and group.is_settled(old, self._topics.version):
            return Outcome(self._keep_alive(group, old, new, request, now))
        turn = ConsumerTurn(now)
        new = self._advance(group, old, new, request, turn)
        return turn.outcome(self._keep_alive(group, old, new, request, now))

    def _join(
        self, known: ConsumerGroup | None, request: HeartbeatRequest, turn: ConsumerTurn
    ) -> Outcome[HeartbeatReply]:
        """A member joins, again or for the first time.

        Raises:
            Refused: GROUP_ID_NOT_FOUND: it does not join, and there is no such group.
        """
        group = known or self._group_to_join(request, turn)
        if request.member_id not in group.members:
            self.steps.check_room(group)
        old = self._joining_member(group, request, turn)
        new = _updated(old, request)
        if new is not old or not group.is_settled(old, self._topics.version):
            new = self._advance(group, old, new, request, turn)
        return turn.outcome(self._keep_alive(group, old, new, request, turn.now))

    def _keep_alive(
        self,
        group: ConsumerGroup,
        old: ConsumerMember,
        new: ConsumerMember,
        request: HeartbeatRequest,
        now: Moment,
    ) -> HeartbeatReply:
        """Begin the member's session again; the reply to its heartbeat.

        It has the assignment if that has changed, and for a member that sent all fields: when it
        joins, and after an error.
        """
        limits = self._limits_of(group.group_id)
        due_ms = now.monotonic_ms + limits.session_timeout_ms
        self.deadlines.set(TimerKey(Timer.SESSION, group.group_id, new.member_id), due_ms)
        subscribes = (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        is_full = subscribes and request.owned is not None and request.rebalance_timeout_ms != -1
        return HeartbeatReply(
            new.member_id,
            new.member_epoch,
            limits.heartbeat_interval_ms,
            new.assigned if is_full or new.assigned != old.assigned else None,
        )

    def _advance(
        self,
        group: ConsumerGroup,
        old: ConsumerMember,
        new: ConsumerMember,
        request: HeartbeatRequest,
        turn: ConsumerTurn,
    ) -> ConsumerMember:
        """The steps of a heartbeat that changes something; the member after them."""
        bump = self.steps.subscribe(group, old, new, turn)
        has_changed = bump or new.subscribed_topic_regex != old.subscribed_topic_regex
        bump |= self.steps.update_regexes(group, old, new, request.may_see, turn)
        bump |= self.steps.has_other_assignor(group, old, new)
        target = self.steps.advance(group, (old, new), turn, bump=bump)
        return self.steps.reconcile(
            group, new, target, request.owned, turn, has_changed=has_changed
        )

    def _group_to_join(self, request: HeartbeatRequest, turn: ConsumerTurn) -> ConsumerGroup:
        """A new group for a member that joins, or the converted classic group."""
        classic = self._classic.groups.get(request.group_id)
        if request.member_epoch != JOINING_EPOCH:
            if classic is None:
                why = f"Consumer group {request.group_id} not found."
                raise Refused(Code.GROUP_ID_NOT_FOUND, why)
            raise self.not_found(request.group_id, is_other=True)
        group = ConsumerGroup(request.group_id, self._first_epoch)
        if classic is None:
            return group
        if not classic.members:  # its record may still have members
            turn.records.append(GroupRemoved(classic.group_id))
            return group
        records, effects = upgraded(classic, self._settings, self._topics)
        turn.records += [GroupRemoved(classic.group_id), *records]
        turn.effects += effects
        for record in records:
            group.replay(record)
        for member in group.members.values():
            assert member.classic is not None, member
            due_ms = turn.now_ms + member.classic.session_timeout_ms
            session = TimerKey(Timer.SESSION, group.group_id, member.member_id)
            self.deadlines.set(session, due_ms)
        return group

    def _joining_member(
        self, group: ConsumerGroup, request: HeartbeatRequest, turn: ConsumerTurn
    ) -> ConsumerMember:
        """A member that joins: a new one, or the known one of that id or instance.

        Raises:
            Refused: UNRELEASED_INSTANCE_ID.
        """
        static = group.static_member(request.instance_id)
        if static is None:
            return group.members.get(request.member_id) or ConsumerMember(request.member_id)
        if static.classic is None:
            check_released(static, request.member_id, static.instance_id)
        return self.steps.replace_static(group, static, request.member_id, turn)

    # ---- leaving

    def _leave(self, request: HeartbeatRequest, turn: ConsumerTurn) -> Outcome[HeartbeatReply]:
        group_id = request.group_id
        group = self.find(group_id, is_other=group_id in self._classic.groups)
        member = group.check_member(request.member_id, request.instance_id)
        reply = HeartbeatReply(request.member_id, request.member_epoch)
        is_back_soon = request.member_epoch == STATIC_LEAVING_EPOCH
        if request.instance_id is not None and is_back_soon:
            away = replace(
                member, member_epoch=STATIC_LEAVING_EPOCH, pending_revocation=NOTHING,
                epochs=kept_epochs(member, member.assigned),
            )  # fmt: skip
            turn.records.append(current(group.group_id, away))
        else:
            self.fence(group, [member], turn)
        return turn.outcome(reply)

    def fence(
        self, group: ConsumerGroup, gone: Collection[ConsumerMember], turn: ConsumerTurn
    ) -> None:
        """Remove members. If only classic members are left, the group becomes a classic one."""
        if not gone:
            return
        left = len(group.members) - len(gone)
        if (
            left > 0
            and group.is_classic_without(gone)
            and self._settings.may_downgrade
            and left <= self._max_classic_size
        ):
            self.become_classic(group, gone, None, turn, rebalance=True)
            return
        for member in gone:
            turn.records += removal(group, member.member_id)
        regexes = _regexes_of(gone, group)
        turn.records += [ConsumerRemoved(Kind.REGEX, group.group_id, regex) for regex in regexes]
        subscribed = group.subscribers_after(gone, gone_regexes=regexes)
        hashed = metadata_hash(subscribed, self._topics)
        turn.raise_epoch(group, group.epoch + 1, hashed)
        if not left:  # the next member need not wait for the assignment interval
            turn.records.append(TargetEpoch(group.group_id, group.epoch + 1))

    def may_become_classic(self, group: ConsumerGroup, replaced: ConsumerMember) -> bool:
        """Whether the group becomes a classic one if a classic member replaces this static one."""
        return (
            replaced.classic is None
            and group.is_classic_without([replaced])
            and self._settings.may_downgrade
            and len(group.members) <= self._max_classic_size
        )

    def become_classic(
        self,
        group: ConsumerGroup,
        gone: Collection[ConsumerMember],
        joining: ConsumerMember | None,
        turn: ConsumerTurn,
        *,
        rebalance: bool,
    ) -> None:
        """Turn the group into a classic one: tombstones, and its record (on-line downgrade).

        Args:
            gone: members that leave now.
            joining: a classic member that replaces a static one; None if none does.
            rebalance: whether the members have to join again.
        """
        replaced = None if joining is None else group.static_member(joining.instance_id)
        ids = {replaced.member_id: joining.member_id} if joining and replaced else {}
        turn.records += group.removal(ids)
        classic = make_classic_group(group, gone, joining, self._topics, now_ms=turn.now.wall_ms)
        record = classic.stored({m.member_id: m.assignment for m in classic.members.values()})
        turn.records.append(record)
        self._classic.adopt(classic, record, turn.now, rebalance)

    # ---- replay

    def _drop(self, group: ConsumerGroup) -> None:
        super()._drop(group)
        self.deadlines.cancel(TimerKey(Timer.REGEX, group.group_id))
        self.steps.may_see.pop(group.group_id, None)

    # ---- time

    def _session_timeout_ms(self, group_id: str) -> int:
        return self._limits_of(group_id).session_timeout_ms

    def _session_ms_of(self, group: ConsumerGroup, member_id: str) -> int:
        classic = group.members[member_id].classic
        if classic is not None:
            return classic.session_timeout_ms
        return super()._session_ms_of(group, member_id)

    def _revocation_ms(self, group: ConsumerGroup, member_id: str) -> int | None:
        member = group.members[member_id]
        gives_up = member.state is MemberState.UNREVOKED and member.classic is None
        return member.rebalance_timeout_ms if gives_up else None

    def _expired(self, group: ConsumerGroup, key: TimerKey, turn: ConsumerTurn) -> bool:
        if key.timer is Timer.REGEX:
            self._match(group, turn)
            return False
        member = group.members.get(key.member_id)
        if member is None:
            return False
        if key.timer is Timer.REBALANCE and (
            member.state is not MemberState.UNREVOKED or member.member_epoch == STATIC_LEAVING_EPOCH
        ):
            return False
        why = "no heartbeat for its session timeout"
        if key.timer is Timer.REBALANCE:
            why = "it has not given up its partitions in its rebalance timeout"
        elif key.timer is not Timer.SESSION:
            why = "it has not taken part in the rebalance in time"
        turn.removed(group, member, why)
        self.fence(group, [member], turn)
        return True

    def _match(self, group: ConsumerGroup, turn: ConsumerTurn) -> None:
        """Have the group's regular expressions matched against the current topics."""
        may_see = self.steps.may_see.pop(group.group_id, None)
        self.steps.matching.add(group.group_id)
        names, version = tuple(self._topics.names()), self._topics.version
        order = MatchTopics(group.group_id, tuple(group.regexes), names, version, may_see)
        turn.effects.append(order)

    def matched(self, order: MatchTopics, found: Found, *, now: Moment) -> Outcome[None]:
        """Log the topics that match, and raise the group's epoch if they differ.

        As handleRegularExpressionsResult in Kafka: an expression that has lost its subscribers
        meanwhile is left out.
        """
        self.steps.matching.discard(order.group_id)
        turn, group = ConsumerTurn(now), self.groups.get(order.group_id)
        if group is None:
            return turn.outcome(None)
        bump = False
        scratch = ConsumerGroup(group.group_id)
        scratch.subscribers, scratch.resolved = dict(group.subscribers), dict(group.resolved)
        for regex, topics in found.items():
            if regex not in group.regexes:
                continue
            known = group.resolved.get(regex)
            bump |= topics != (known.topics if known is not None else frozenset())
            record = ResolvedRegex(group.group_id, regex, topics, order.version, now.wall_ms)
            turn.records.append(record)
            scratch.replay(record)
        hashed = metadata_hash(scratch.subscribers, self._topics)
        if bump or hashed != group.metadata_hash:
            turn.raise_epoch(group, group.epoch + 1, hashed)
            group.checked = (self._topics.version, group.epoch + 1)
        return turn.outcome(None)

    # ---- views

    def describe(self, group_id: str) -> DescribedConsumerGroup:
        """ConsumerGroupDescribe (69). Raises Refused(GROUP_ID_NOT_FOUND)."""
        group = self.find(group_id, is_other=group_id in self._classic.groups)
        return DescribedConsumerGroup(
            group_id,
            group.state.value,
            group.epoch,
            group.target_epoch,
            group.assignor(self._settings.assignors[0]),
            tuple(group.members.values()),
            dict(group.targets),
        )


def check_request(request: HeartbeatRequest, assignors: Iterable[str]) -> None:
    """Check the fields that a heartbeat of its epoch must have.

    Raises:
        Refused: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.
    """
    epoch, instance_id, rack_id = request.member_epoch, request.instance_id, request.rack_id
    needs_id = request.requires_member_id or epoch > JOINING_EPOCH or epoch == LEAVING_EPOCH
    for wrong, why in (
        (needs_id and not request.member_id.strip(), "MemberId can't be empty."),
        (not request.group_id.strip(), "GroupId can't be empty."),
        (instance_id is not None and not instance_id.strip(), "InstanceId can't be empty."),
        (rack_id is not None and not rack_id.strip(), "RackId can't be empty."),
        (epoch < STATIC_LEAVING_EPOCH, "MemberEpoch is invalid."),
        (
            epoch == STATIC_LEAVING_EPOCH and instance_id is None,
            "InstanceId can't be null.",
        ),
    ):
        if wrong:
            raise Refused(Code.INVALID_REQUEST, why)
    if epoch == JOINING_EPOCH:
        _check_join(request)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise Refused(
            Code.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: "
            f"{', '.join(assignors)}.",
        )


def _check_join(request: HeartbeatRequest) -> None:
    why = None
    if request.rebalance_timeout_ms == -1:
        why = "RebalanceTimeoutMs must be provided in first request."
    elif request.owned is None or request.owned:
        why = "TopicPartitions must be empty when (re-)joining."
    elif request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        why = (
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )
    if why is not None:
        raise Refused(Code.INVALID_REQUEST, why)


class _Subscription(NamedTuple):
    """The fields of a `ConsumerMember` that a heartbeat may change."""

    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    subscribed_topic_names: frozenset[str]
    subscribed_topic_regex: str
    client_id: str
    client_host: str


def _updated(member: ConsumerMember, request: HeartbeatRequest) -> ConsumerMember:
    """The member with the fields of the heartbeat; the same object if none of them changed."""
    names = request.subscribed_topic_names
    regex = request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    values = (
        member.instance_id if request.instance_id is None else request.instance_id,
        member.rack_id if request.rack_id is None else request.rack_id,
        member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        member.server_assignor if request.server_assignor is None else request.server_assignor,
        member.subscribed_topic_names if names is None else names,
        member.subscribed_topic_regex if regex is None else regex,
        request.client_id,
        request.client_host,
    )
    if member.classic is None and values == (
        member.instance_id,
        member.rack_id,
        member.rebalance_timeout_ms,
        member.server_assignor,
        member.subscribed_topic_names,
        member.subscribed_topic_regex,
        member.client_id,
        member.client_host,
    ):
        return member
    return replace(member, classic=None, **_Subscription(*values)._asdict())


def _regexes_of(gone: Iterable[ConsumerMember], group: ConsumerGroup) -> list[str]:
    """The regular expressions that lose their last subscriber with these members."""
    counts: dict[str, int] = {}
    for member in gone:
        if member.subscribed_topic_regex:
            regex = member.subscribed_topic_regex
            counts[regex] = counts.get(regex, 0) + 1
    return [regex for regex, count in counts.items() if group.regexes.get(regex) == count]
