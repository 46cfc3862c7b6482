"""Streams groups: joining, tasks, epochs, statuses, timers, views and deletion."""

from __future__ import annotations

import pytest

from ottla.coordinator.group_records import GroupStored, decode, encode
from ottla.coordinator.groups import ClaimedMember
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.streams.configured import Status
from ottla.coordinator.streams.kind import StreamsKind
from ottla.coordinator.streams.member import Endpoint
from ottla.coordinator.streams.topology import Subtopology, Topology
from ottla.protocol.errors import Code, Refused
from tests.coordinator.consumer.conversation import FakeTopics
from tests.coordinator.group_conversation import GROUP, Client, joined_group, stable_group
from tests.coordinator.streams.conversation import (
    COUNTS,
    REBALANCE_MS,
    SESSION_MS,
    STATEFUL,
    Member,
    StreamsTalk,
)

LOST = Code.UNKNOWN_MEMBER_ID


def test_the_first_member_gets_all_tasks_at_once() -> None:
    talk = StreamsTalk(FakeTopics(lines=3))
    member = Member(talk, "a")
    reply = member.beat()
    assert (member.epoch, member.active, member.statuses) == (2, {"0": [0, 1, 2]}, [])
    assert (reply.heartbeat_interval_ms, reply.task_offset_interval_ms) == (5_000, 60_000)
    assert reply.acceptable_recovery_lag == 10_000


def test_a_heartbeat_without_a_change_logs_nothing_and_returns_no_tasks(talk: StreamsTalk) -> None:
    member = Member(talk, "a")
    member.beat()
    logged = len(talk.log)
    assert member.beat().tasks is None
    assert len(talk.log) == logged


def test_tasks_move_once_their_owner_has_given_them_up(talk: StreamsTalk) -> None:
    a, b = Member(talk, "a"), Member(talk, "b")
    a.beat()
    b.beat()
    assert (b.epoch, b.active) == (3, {}), "the other one still runs them"
    a.beat()
    [kept] = a.active["0"]
    assert a.epoch == 2, "it has to confirm first"
    assert b.beat().tasks is None
    a.beat()
    b.beat()
    assert (a.epoch, b.epoch) == (3, 3)
    assert b.active == {"0": [1 - kept]}
    assert talk.streams_group.state.value == "Stable"


def test_a_standby_is_on_another_process_than_its_active_task() -> None:
    talk = StreamsTalk(num_standby_replicas=1)
    a, b = Member(talk, "a", STATEFUL), Member(talk, "b", STATEFUL)
    talk.settle(a, b)
    assert (a.standby, b.standby) == (b.active, a.active)
    other = StreamsTalk(num_standby_replicas=1)
    members = [Member(other, each, STATEFUL, process_id="one") for each in "ab"]
    other.settle(*members)
    assert [each.standby for each in members] == [{}, {}]


def test_missing_internal_topics_are_asked_for_and_then_tasks_are_given() -> None:
    talk = StreamsTalk(FakeTopics(lines=3))
    member = Member(talk, "a", STATEFUL)
    reply = member.beat()
    assert [(each.name, each.partitions) for each in reply.missing_topics] == [(COUNTS, 3)]
    assert (member.statuses, member.active) == ([Status.MISSING_INTERNAL_TOPICS], {})
    assert talk.streams_group.state.value == "NotReady"
    member.beat()
    assert (member.statuses, member.active) == ([], {"0": [0, 1, 2]})


def test_a_missing_source_topic_heals_when_it_is_made() -> None:
    talk = StreamsTalk(FakeTopics())
    member = Member(talk, "a")
    member.beat()
    assert (member.statuses, member.active) == ([Status.MISSING_SOURCE_TOPICS], {})
    talk.topics.make("lines", 2)
    member.beat()
    assert (member.statuses, member.active) == ([], {"0": [0, 1]})
    talk.topics.grow("lines", 3)
    member.beat()
    assert member.active == {"0": [0, 1, 2]}


def test_a_group_that_was_empty_waits_for_more_members() -> None:
    talk = StreamsTalk(initial_rebalance_delay_ms=3_000)
    a, b = Member(talk, "a"), Member(talk, "b")
    for each in (a, b):
        each.beat()
        assert (each.epoch, each.active) == (1, {})
        assert each.statuses == [Status.ASSIGNMENT_DELAYED]
    a.beat()  # now the coordinator knows the topics again
    talk.pass_time(3_000)
    assert talk.streams_group.target_epoch == talk.streams_group.epoch == 3
    a.beat()
    b.beat()
    assert (len(a.active["0"]), len(b.active["0"])) == (1, 1)


def test_two_assignments_have_an_interval_between_them() -> None:
    talk = StreamsTalk(assignment_interval_ms=1_000)
    a, b = Member(talk, "a"), Member(talk, "b")
    a.beat()
    b.beat()
    assert (b.epoch, b.statuses) == (2, [Status.ASSIGNMENT_DELAYED])
    talk.pass_time(999)
    b.beat()
    assert b.statuses == [Status.ASSIGNMENT_DELAYED]
    talk.pass_time(1)
    b.beat()
    assert (b.epoch, b.statuses) == (3, [])


def test_a_wall_clock_that_was_set_back_does_not_hold_the_next_assignment() -> None:
    talk = StreamsTalk(assignment_interval_ms=1_000)
    Member(talk, "a").beat()
    talk.wall_step_ms = -500_000
    b = Member(talk, "b")
    b.beat()
    assert b.statuses == []


def test_the_previous_epoch_is_forgiven_with_tasks_that_the_member_has(talk: StreamsTalk) -> None:
    a, b = Member(talk, "a"), Member(talk, "b")
    a.beat()
    before = a.epoch
    b.beat()
    a.beat()
    a.beat()
    assert a.epoch == before + 1
    a.beat(member_epoch=before)
    gone = frozenset({0, 1}) - set(a.active["0"])
    assert a.refused(member_epoch=before, active={"0": gone}) is Code.FENCED_MEMBER_EPOCH
    assert a.refused(member_epoch=a.epoch + 1) is Code.FENCED_MEMBER_EPOCH


def test_an_epoch_before_the_previous_one_is_fenced(talk: StreamsTalk, member: Member) -> None:
    member.beat()
    missed = member.epoch
    for partitions in (3, 4):
        talk.topics.grow("lines", partitions)
        member.beat()
    assert member.epoch == missed + 2
    assert member.refused(member_epoch=missed, active={}) is Code.FENCED_MEMBER_EPOCH


def test_a_known_member_joins_again_with_the_same_tasks(talk: StreamsTalk, member: Member) -> None:
    member.beat()
    epoch = member.epoch
    assert member.beat(member_epoch=0).tasks is not None
    assert (member.epoch, member.active) == (epoch, {"0": [0, 1]})


def test_another_topology_needs_another_group() -> None:
    talk = StreamsTalk(FakeTopics(lines=2, words=2))
    Member(talk, "a").beat()
    other = Topology(0, (Subtopology("0", ("words",)),))
    assert Member(talk, "b", other).refused() is Code.INVALID_REQUEST
    later = Topology(1, (Subtopology("0", ("lines",)),))
    assert Member(talk, "b", later).refused() is Code.INVALID_REQUEST


def test_the_status_says_that_a_topology_is_older(talk: StreamsTalk) -> None:
    Member(talk, "a", Topology(1, (Subtopology("0", ("lines",)),))).beat()
    old = Member(talk, "b", Topology(0, (Subtopology("0", ("elsewhere",)),)))
    old.beat()
    assert old.statuses == [Status.STALE_TOPOLOGY]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"member_id": " "}, Code.INVALID_REQUEST),
        ({"group_id": ""}, Code.INVALID_REQUEST),
        ({"instance_id": ""}, Code.INVALID_REQUEST),
        ({"rack_id": " "}, Code.INVALID_REQUEST),
        ({"member_epoch": -3}, Code.INVALID_REQUEST),
        ({"member_epoch": -2}, Code.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, Code.INVALID_REQUEST),
        ({"active": None}, Code.INVALID_REQUEST),
        ({"standby": {"0": frozenset({0})}}, Code.INVALID_REQUEST),
        ({"warmup": {"0": frozenset({0})}}, Code.INVALID_REQUEST),
        ({"topology": None}, Code.INVALID_REQUEST),
        ({"topology": Topology(0, (Subtopology("0", (), ("l.*",)),))}, Code.INVALID_REQUEST),
        ({"topology": Topology(0, (Subtopology("0"),) * 2)}, Code.UNKNOWN_SERVER_ERROR),
        ({"member_epoch": 5}, Code.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, Code.GROUP_ID_NOT_FOUND),
    ],
    ids=str,
)
def test_a_request_that_makes_no_sense_is_refused(fields: dict[str, object], code: Code) -> None:
    talk = StreamsTalk()
    member = Member(talk, "a")
    request = member.request()
    values = {name: getattr(request, name) for name in type(request).__dataclass_fields__}
    if fields.get("member_epoch"):
        values["topology"] = None
    kind = talk.machine.kind(StreamsKind)
    with pytest.raises(Refused) as refused:
        kind.streams_heartbeat(type(request)(**{**values, **fields}), now=talk.now)
    assert refused.value.code is code
    assert talk.log == []


def test_a_task_that_the_topology_has_not_is_refused(talk: StreamsTalk, member: Member) -> None:
    member.beat()
    for owned in ({"0": frozenset({2})}, {"9": frozenset({0})}):
        assert member.refused(active=owned) is Code.INVALID_REQUEST
    twice = [("0", 0, 5), ("0", 0, 6)]
    assert member.refused(task_offsets=twice) is Code.INVALID_REQUEST


def test_members_wait_no_longer_than_the_rebalance_timeout_for_tasks(talk: StreamsTalk) -> None:
    a, b = Member(talk, "a"), Member(talk, "b")
    a.beat()
    b.beat()
    a.beat()  # it is asked to give a task up
    talk.pass_time(REBALANCE_MS - 1)
    b.beat()
    assert b.active == {}
    talk.pass_time(1)
    assert a.refused() is LOST
    b.beat()
    assert b.active == {"0": [0, 1]}


def test_a_silent_member_is_removed_after_its_session(talk: StreamsTalk, member: Member) -> None:
    member.beat()
    talk.pass_time(SESSION_MS - 1)
    assert list(talk.streams_group.members) == ["a"]
    talk.pass_time(1)
    assert talk.streams_group.state.value == "Empty"
    assert talk.streams_group.target_epoch == talk.streams_group.epoch
    assert member.refused() is LOST


def test_a_restart_finds_the_group_as_it_was() -> None:
    talk = StreamsTalk(num_standby_replicas=1)
    members = [Member(talk, each, STATEFUL) for each in "ab"]
    talk.settle(*members)
    told = [(each.epoch, each.tasks) for each in members]
    machine = talk.fresh_machine()
    for record, _ in talk.log:
        assert not isinstance(record, bool)
        read = decode(*encode(record))
        assert read == record
        machine.replay(record)
    talk.machine = machine
    talk.settle(*members)
    assert [(each.epoch, each.tasks) for each in members] == told
    talk.pass_time(SESSION_MS)
    assert talk.streams_group.members == {}, "sessions begin again"


def test_members_that_die_with_the_coordinator_are_removed_after_a_session() -> None:
    talk = StreamsTalk()
    Member(talk, "a").beat()
    talk.restart()
    talk.pass_time()
    talk.pass_time(SESSION_MS - 1)
    assert list(talk.streams_group.members) == ["a"]
    talk.pass_time(1)
    assert talk.streams_group.members == {}


def test_a_full_group_accepts_no_further_member() -> None:
    talk = StreamsTalk(max_size=1)
    Member(talk, "a").beat()
    assert Member(talk, "b").refused() is Code.GROUP_MAX_SIZE_REACHED
    Member(talk, "a").beat()


def test_a_request_to_end_the_application_reaches_all_until_the_group_is_empty() -> None:
    talk = StreamsTalk()
    a, b = Member(talk, "a"), Member(talk, "b")
    talk.settle(a, b)
    a.beat(shutdown_application=True)
    b.beat()
    assert b.statuses == [Status.SHUTDOWN_APPLICATION]
    for each in (a, b):
        each.beat(member_epoch=-1)
    c = Member(talk, "c")
    c.beat()
    assert c.statuses == []


def test_changed_settings_rebalance_and_a_status_says_which_tags_are_missing() -> None:
    talk = StreamsTalk(rack_aware_assignment_tags=("zone", "rack"))
    a = Member(talk, "a", client_tags=(("zone", "z1"),))
    a.beat()
    assert a.statuses == [Status.MISSING_CLIENT_TAGS]
    a.beat(knows_tags=False)
    assert a.statuses == []
    epoch = talk.streams_group.epoch
    talk.streams_settings = StreamsTalk(num_standby_replicas=1).streams_settings
    a.beat()
    assert talk.streams_group.epoch == epoch + 1


def test_endpoints_are_sent_to_members_that_do_not_know_them() -> None:
    talk = StreamsTalk(FakeTopics(lines=2))
    a = Member(talk, "a", user_endpoint=Endpoint("h", 8080))
    b = Member(talk, "b")
    talk.settle(a, b)
    reply = b.beat(endpoint_epoch=-1)
    assert reply.endpoints is not None
    [shown] = reply.endpoints
    assert (shown.endpoint, shown.active) == (Endpoint("h", 8080), {"lines": a.active["0"]})
    assert b.beat(endpoint_epoch=reply.endpoint_epoch).endpoints is None


def test_an_empty_classic_group_is_taken_over_with_its_offsets(talk: StreamsTalk) -> None:
    talk.machine.replay(GroupStored(GROUP, "consumer", 1, None, None, 0))
    talk.told(
        talk.machine.commit(GROUP, ClaimedMember(), [OffsetToCommit("lines", 0, 7)], now=talk.now)
    )
    Member(talk, "a").beat()
    assert talk.machine.kind_name_of(GROUP) == "streams"
    held = talk.machine.fetch_offset(GROUP, "lines", 0, require_stable=False)
    assert held.offset == 7


def test_groups_of_other_kinds_are_not_found(talk: StreamsTalk) -> None:
    stable_group(talk, Client(talk, "c"))
    assert Member(talk, "a").refused() is Code.GROUP_ID_NOT_FOUND


def test_offsets_need_the_member_and_an_epoch_of_its_task() -> None:
    talk = StreamsTalk(FakeTopics(lines=2, other=1))
    a, b = Member(talk, "a"), Member(talk, "b")
    a.beat()
    old = a.epoch
    talk.settle(a, b)
    [kept] = a.active["0"]

    def code(member_id: str, epoch: int, partition: int, topic: str = "lines") -> Code:
        try:
            sender = ClaimedMember(member_id, epoch)
            offset = OffsetToCommit(topic, partition, 1)
            talk.told(talk.machine.commit(GROUP, sender, [offset], now=talk.now))
        except Refused as refused:
            return refused.code
        return Code.NONE

    assert code("a", a.epoch, 1 - kept) is Code.NONE, "the present epoch is good for all"
    assert code("a", old, kept) is Code.NONE, "it has had the task since"
    assert code("a", old, 1 - kept) is Code.STALE_MEMBER_EPOCH
    assert code("a", old, 0, "other") is Code.STALE_MEMBER_EPOCH
    assert code("b", old, 1 - kept) is Code.STALE_MEMBER_EPOCH
    assert code("a", a.epoch + 1, kept) is Code.STALE_MEMBER_EPOCH
    assert code("c", 1, kept) is LOST
    assert code("", -1, kept) is LOST
    for each in (a, b):
        each.beat(member_epoch=-1)
    assert code("", -1, kept) is Code.NONE


def test_offsets_of_topics_that_the_topology_reads_are_kept_while_there_are_members() -> None:
    talk = StreamsTalk(FakeTopics(lines=2, other=1))
    member = Member(talk, "a")
    member.beat()
    codes = talk.told(talk.machine.delete_offsets(GROUP, [("lines", 0), ("other", 0)]))
    assert codes == (Code.GROUP_SUBSCRIBED_TO_TOPIC, Code.NONE)
    member.beat(member_epoch=-1)
    assert talk.told(talk.machine.delete_offsets(GROUP, [("lines", 0)])) == (Code.NONE,)


def test_a_group_is_deleted_when_it_is_empty(talk: StreamsTalk, member: Member) -> None:
    member.beat()
    assert talk.told(talk.machine.delete([GROUP])) == {GROUP: Code.NON_EMPTY_GROUP}
    member.beat(member_epoch=-1)
    assert talk.told(talk.machine.delete([GROUP])) == {GROUP: Code.NONE}
    assert talk.machine.kind_name_of(GROUP) is None


def test_a_state_of_two_words_is_found_by_its_name_with_an_underscore() -> None:
    talk = StreamsTalk(FakeTopics())
    Member(talk, "a").beat()
    found = [talk.machine.list_groups(states={name}) for name in ("not_ready", "notready")]
    assert [[each.state for each in groups] for groups in found] == [["NotReady"], []]


def test_an_empty_group_gives_way_to_a_classic_one(talk: StreamsTalk, member: Member) -> None:
    member.beat()
    assert Client(talk, "c").join() is Code.INCONSISTENT_GROUP_PROTOCOL
    member.beat(member_epoch=-1)
    joined_group(talk, Client(talk, "c"))
    assert talk.machine.kind_name_of(GROUP) == "classic"
