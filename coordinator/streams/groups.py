"""Streams groups (KIP-1071): StreamsGroupHeartbeat, leaving, replay and timers.

Follows Kafka's GroupMetadataManager. A decision changes volatile state only (`../volatile.py`); the
group changes by replay. A heartbeat without changes costs a few look-ups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import TypeVar

from ...protocol.errors import Code, Refused
from ...protocol.lazy_dataclass import dataclass
from ..classic.group import ClassicGroup
from ..consumer.topics import NoTopics, Topics
from ..deadlines import Timer, TimerKey
from ..group_kinds import STREAMS
from ..group_records import GroupRemoved
from ..modern_groups import (
    JOINING_EPOCH,
    STATIC_LEAVING_EPOCH,
    MemberState,
    ModernGroups,
    check_released,
)
from ..moment import Moment
from ..outcome import Outcome
from .checks import check_tasks, stale_topology, statuses, task_offsets
from .configured import ConfiguredTopology
from .group import StreamsGroup
from .member import StreamsMember, TasksTupleWithEpochs
from .records import Kind, StreamsRecord, TargetEpoch, current
from .requests import (
    DescribedStreamsGroup,
    EndpointPartitions,
    HeartbeatReply,
    HeartbeatRequest,
    StreamsGroupSettings,
    check_request,
)
from .steps import Steps, StreamsTurn, check_epoch, removal

Value = TypeVar("Value")


def _usual_settings(group_id: str) -> StreamsGroupSettings:
    return StreamsGroupSettings()


@dataclass(frozen=True, slots=True)
class StreamsSetup:
    """The services and settings that streams groups get from their broker.

    Attributes:
        topics: the topics of the cluster, as a live view.
        settings_of: the settings of a group, by its id.
    """

    topics: Topics = field(default_factory=NoTopics)
    settings_of: Callable[[str], StreamsGroupSettings] = _usual_settings


class StreamsGroups(ModernGroups[StreamsGroup, StreamsRecord, StreamsTurn]):
    """The streams groups of one partition of `__consumer_offsets`.

    Args:
        setup: services and settings of the broker.
    """

    kind_name = STREAMS
    group_key = Kind.GROUP
    member_key = Kind.MEMBER
    member_timers = (Timer.SESSION, Timer.REBALANCE)

    def __init__(self, setup: StreamsSetup) -> None:
        super().__init__(StreamsGroup, StreamsTurn)
        self._topics = setup.topics
        self._settings_of = setup.settings_of
        self.steps = Steps(setup.topics, setup.settings_of, self.deadlines)

    # ---- StreamsGroupHeartbeat

    def heartbeat(
        self, request: HeartbeatRequest, *, classic: ClassicGroup | None, now: Moment
    ) -> Outcome[HeartbeatReply]:
        """StreamsGroupHeartbeat (88): join, take the next step, or leave.

        Args:
            classic: the classic group of that id; a member that joins takes over an empty one.
            now: the time on both clocks.

        Raises:
            Refused: INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND,
                UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID,
                UNRELEASED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED.
        """
        check_request(request)
        turn = StreamsTurn(now)
        if request.member_epoch < JOINING_EPOCH:
            return self._leave(request, turn, is_classic=classic is not None)
        group = self._group_for(request, classic, turn)
        old = self._member_for(group, request, turn)
        new = _updated(old, request)
        bump = self.steps.note_metadata(group, old, new, turn)
        topology = self.steps.topology_for(group, request, turn)
        turn.statuses += stale_topology(group, new)
        known = self.steps.configure(group, topology)
        if known.is_ready:
            check_tasks(known, request.owned)
        offsets = task_offsets(group.offsets_of(request.member_id), request)
        target = self.steps.advance(group, new, known, turn, bump=bump)
        new = self.steps.reconcile(group, new, target, request.owned, turn)
        settings = self._settings_of(group.group_id)
        due_ms = turn.now_ms + settings.session_timeout_ms
        self.deadlines.set(TimerKey(Timer.SESSION, group.group_id, new.member_id), due_ms)
        if offsets is not None:
            group.offsets[new.member_id] = offsets
        if request.shutdown_application and group.shutdown_member_id is None:
            group.shutdown_member_id = new.member_id
        endpoints = self._endpoints(group, (old, new), known, request)
        turn.statuses += statuses(group, new, known, settings, knows_tags=request.knows_tags)
        joins = request.member_epoch == JOINING_EPOCH
        reply = HeartbeatReply(
            new.member_id,
            new.member_epoch,
            settings.heartbeat_interval_ms,
            settings.acceptable_recovery_lag,
            settings.task_offset_interval_ms,
            tuple(turn.statuses),
            new.assigned if joins or new.assigned != old.assigned else None,
            group.endpoints.epoch if group.group_id in self.groups else 0,
            endpoints,
            known.missing,
        )
        return turn.outcome(reply)

    def _group_for(
        self, request: HeartbeatRequest, classic: ClassicGroup | None, turn: StreamsTurn
    ) -> StreamsGroup:
        """The group; a new one for a member that joins, also in place of an empty classic group."""
        group = self.groups.get(request.group_id)
        if group is not None:
            if request.member_epoch == JOINING_EPOCH:
                self.steps.check_room(group, request)
            return group
        if request.member_epoch != JOINING_EPOCH:
            if classic is None:
                why = f"Streams group {request.group_id} not found."
                raise Refused(Code.GROUP_ID_NOT_FOUND, why)
            raise self.not_found(request.group_id, is_other=True)
        if classic is not None:
            if classic.members:
                raise self.not_found(request.group_id, is_other=True)
            turn.records.append(GroupRemoved(classic.group_id))
        return StreamsGroup(request.group_id)

    def _member_for(
        self, group: StreamsGroup, request: HeartbeatRequest, turn: StreamsTurn
    ) -> StreamsMember:
        """The member that sent the request, or a new one if it joins.

        Raises:
            Refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, UNRELEASED_INSTANCE_ID,
                FENCED_MEMBER_EPOCH.
        """
        if request.member_epoch != JOINING_EPOCH:
            member = group.check_member(request.member_id, request.instance_id)
            check_epoch(member, request.member_epoch, request.owned)
            return member
        known = group.static_member(request.instance_id)
        if known is None:
            return group.members.get(request.member_id) or StreamsMember(request.member_id)
        check_released(known, request.member_id, known.instance_id)
        return self.steps.replace_static(group, known, request.member_id, turn)

    def _endpoints(
        self,
        group: StreamsGroup,
        members: tuple[StreamsMember, StreamsMember],
        known: ConfiguredTopology,
        request: HeartbeatRequest,
    ) -> tuple[EndpointPartitions, ...] | None:
        """The partitions of all endpoints; None if the member knows them.

        Args:
            members: the member before and after the request.
        """
        old, new = members
        endpoint_changed = old.user_endpoint != new.user_endpoint
        tasks_changed = old.assigned != new.assigned
        if endpoint_changed or (tasks_changed and new.user_endpoint is not None):
            group.endpoints.epoch += 1
        if group.endpoints.epoch == request.endpoint_epoch:
            return None
        replaced = group.static_member(new.instance_id)
        left_out = {new.member_id, new.member_id if replaced is None else replaced.member_id}
        present = [each for each in group.members.values() if each.member_id not in left_out]
        shown = [each for each in (*present, new) if each.user_endpoint is not None]
        if shown and known.subtopologies is None:
            # Kafka's coordinator fails here while the topics do not fit the topology.
            raise Refused(Code.UNKNOWN_SERVER_ERROR)
        return tuple(group.endpoints.of(each, known, self._topics) for each in shown)

    # ---- leaving

    def _leave(
        self, request: HeartbeatRequest, turn: StreamsTurn, *, is_classic: bool
    ) -> Outcome[HeartbeatReply]:
        group = self.find(request.group_id, is_other=is_classic)
        if request.shutdown_application and group.shutdown_member_id is None:
            group.shutdown_member_id = request.member_id
        member = group.check_member(request.member_id, request.instance_id)
        reply = HeartbeatReply(request.member_id, request.member_epoch)
        is_back_soon = request.member_epoch == STATIC_LEAVING_EPOCH
        if request.instance_id is not None and is_back_soon:
            away = replace(
                member,
                member_epoch=STATIC_LEAVING_EPOCH,
                assigned=_without_epochs(member.assigned),
                pending_revocation=TasksTupleWithEpochs(),
            )
            turn.records.append(current(group.group_id, away))
        else:
            self._fence(group, member, turn)
        return turn.outcome(reply)

    def _fence(self, group: StreamsGroup, member: StreamsMember, turn: StreamsTurn) -> None:
        """Remove a member; the next heartbeat of another one makes a new target."""
        turn.records += removal(group, member.member_id)
        before = group.epoch_record
        epoch = turn.raise_epoch(
            group,
            metadata_hash=before.metadata_hash,
            validated_topology_epoch=before.validated_topology_epoch,
            assignment_configs=before.assignment_configs,
        )
        if len(group.members) == 1:
            turn.records.append(TargetEpoch(group.group_id, epoch))

    # ---- replay

    def _drop(self, group: StreamsGroup) -> None:
        super()._drop(group)
        self.deadlines.cancel(TimerKey(Timer.INITIAL, group.group_id))

    # ---- time

    def _session_timeout_ms(self, group_id: str) -> int:
        return self._settings_of(group_id).session_timeout_ms

    def _revocation_ms(self, group: StreamsGroup, member_id: str) -> int | None:
        member = group.members[member_id]
        gives_up = member.state is MemberState.UNREVOKED
        return member.rebalance_timeout_ms if gives_up else None

    def _expired(self, group: StreamsGroup, key: TimerKey, turn: StreamsTurn) -> bool:
        if key.timer is Timer.INITIAL:
            # If the log does not take the target, a heartbeat makes it again.
            self.steps.end_initial_delay(group, turn)
            return False
        member = group.members.get(key.member_id)
        if member is None:
            return False
        why = "no heartbeat for its session timeout"
        if key.timer is Timer.REBALANCE:
            if (
                member.state is not MemberState.UNREVOKED
                or member.member_epoch == STATIC_LEAVING_EPOCH
            ):
                return False
            why = "it has not given up its tasks in its rebalance timeout"
        turn.removed(group, member, why)
        self._fence(group, member, turn)
        return True

    # ---- views

    def describe(self, group_id: str, *, is_classic: bool) -> DescribedStreamsGroup:
        """StreamsGroupDescribe (89). Raises Refused(GROUP_ID_NOT_FOUND).

        Args:
            is_classic: whether there is a classic group of that id.
        """
        group = self.find(group_id, is_other=is_classic)
        known = group.configured
        return DescribedStreamsGroup(
            group_id,
            group.state.value,
            group.epoch,
            group.target_epoch,
            self._settings_of(group_id).assignor,
            group.topology,
            known if known is not None and known.is_ready else None,
            tuple(group.members.values()),
            dict(group.targets),
            dict(group.offsets),
        )


def _without_epochs(tasks: TasksTupleWithEpochs) -> TasksTupleWithEpochs:
    """The tasks of a member that is away: each has the epoch 0 until the member is back."""
    active = {each: dict.fromkeys(epochs, 0) for each, epochs in tasks.active.items()}
    return tasks._replace(active=active)


def _updated(member: StreamsMember, request: HeartbeatRequest) -> StreamsMember:
    """The member with the fields of the heartbeat; the same object if none of them changed.

    A member that joins without an endpoint has none any more.
    """
    joins = request.member_epoch == JOINING_EPOCH
    timeout_ms, topology = request.rebalance_timeout_ms, request.topology
    updated = replace(
        member,
        instance_id=_told(request.instance_id, member.instance_id),
        rack_id=_told(request.rack_id, member.rack_id),
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=member.topology_epoch if topology is None else topology.epoch,
        process_id=_told(request.process_id, member.process_id),
        user_endpoint=_told(request.user_endpoint, None if joins else member.user_endpoint),
        client_tags=_told(request.client_tags, member.client_tags),
    )
    return member if updated == member else updated


def _told(value: Value | None, before: Value) -> Value:
    """What a heartbeat says; None stands for what was said before."""
    return before if value is None else value
