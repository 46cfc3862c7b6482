"""A restarted coordinator has the stored state, and no rebalance under way."""

from __future__ import annotations

from dataclasses import replace

from ottla.coordinator.group_records import GroupRemoved, GroupStored
from ottla.protocol.errors import Code
from tests.coordinator.group_conversation import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Client,
    GroupTalk,
    joined_group,
    stable_group,
)


def test_a_stable_group_is_stable_again_and_its_members_go_on(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    stable_group(talk, a, b)
    before = talk.group
    talk.restart()
    assert talk.group == before
    assert (a.heartbeat(), b.heartbeat()) == (Code.NONE, Code.NONE)
    assert (a.sync(), b.sync()) == (b"a", b"b")
    assert a.commit(7) is Code.NONE


def test_sessions_begin_again_with_the_restart(talk: GroupTalk, a: Client, b: Client) -> None:
    stable_group(talk, a, b)
    talk.now_ms += 10 * SESSION_MS  # the broker was down
    talk.restart()
    assert talk.machine.next_deadline(talk.now) == 0, "sessions wait for the first tick"
    talk.pass_time(SESSION_MS - 1)
    assert a.heartbeat() is Code.NONE
    talk.pass_time(1)
    assert a.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert b.heartbeat() is Code.UNKNOWN_MEMBER_ID


def test_a_rebalance_that_was_under_way_is_forgotten(talk: GroupTalk, a: Client, b: Client) -> None:
    stable_group(talk, a)
    joined_group_with(talk, a, b)
    talk.restart()
    assert (talk.state, len(talk.group.members)) == ("Stable", 1)
    assert b.heartbeat() is Code.UNKNOWN_MEMBER_ID
    assert a.heartbeat() is Code.ILLEGAL_GENERATION, "nobody has stored generation 2"


def joined_group_with(talk: GroupTalk, leader: Client, newcomer: Client) -> None:
    assert newcomer.join() is None
    assert leader.join() is Code.NONE
    assert newcomer.joined() is not None
    assert talk.state == "CompletingRebalance"


def test_an_empty_group_keeps_its_generation(talk: GroupTalk, a: Client) -> None:
    stable_group(talk, a)
    a.leave()
    talk.restart()
    assert (talk.state, talk.group.protocol_type) == ("Empty", "consumer")
    again = Client(talk, "again")
    stable_group(talk, again)
    assert again.generation_id == 3


def test_a_group_of_which_only_offsets_are_known_is_empty(talk: GroupTalk) -> None:
    talk.commit(5)
    talk.restart()
    assert (talk.state, talk.group.protocol_type, talk.offset()) == ("Empty", "", 5)


def test_a_group_that_was_deleted_stays_deleted(talk: GroupTalk) -> None:
    talk.commit(5)
    talk.told(talk.machine.delete([GROUP]))
    talk.restart()
    assert (talk.state, talk.offset()) == ("Dead", -1)


def test_the_latest_record_of_a_group_counts(talk: GroupTalk, a: Client) -> None:
    for _ in range(3):
        a.member_id = ""
        stable_group(talk, a)
        a.leave()
    stable_group(talk, a := Client(talk, "last"))
    talk.restart()
    assert a.heartbeat() is Code.NONE
    assert [member.member_id for member, _ in talk.group.members] == [a.member_id]


def test_a_group_larger_than_the_limit_that_was_lowered_has_to_rebalance(talk: GroupTalk) -> None:
    clients = [Client(talk, name) for name in "abc"]
    stable_group(talk, *clients)
    for max_size, state in ((3, "Stable"), (2, "PreparingRebalance")):
        smaller = GroupTalk(max_size=max_size)
        smaller.log = talk.log
        smaller.restart()
        smaller.pass_time()
        assert smaller.state == state


def test_the_record_of_a_group_is_written_when_the_leader_has_assigned(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    joined_group(talk, a, b)
    stored = [record for record, _ in talk.log if isinstance(record, GroupStored)]
    assert [record.members for record in stored] == [()], "the birth of the group alone"
    a.sync({a: b"1", b: b"2"})
    last, _ = talk.log[-1]
    assert isinstance(last, GroupStored)
    assert [(m.client_id, m.assignment) for m in last.members] == [("a", b"1"), ("b", b"2")]
    assert (last.generation_id, last.protocol, last.leader) == (1, "range", a.member_id)
    assert {(m.session_timeout_ms, m.rebalance_timeout_ms) for m in last.members} == {
        (SESSION_MS, REBALANCE_MS)
    }


def test_a_tombstone_of_a_compacted_group_is_ignored(talk: GroupTalk) -> None:
    talk.log = [(GroupRemoved(GROUP), None)]
    talk.restart()
    assert talk.state == "Dead"


def test_members_without_a_protocol_are_loaded_and_may_consume_anything(talk: GroupTalk) -> None:
    a = Client(talk, "a")
    stable_group(talk, a)
    last, _ = talk.log[-1]
    assert isinstance(last, GroupStored)
    talk.log = [(replace(last, protocol=None), None)]
    talk.restart()
    assert a.heartbeat() is Code.NONE
    assert talk.machine.delete_offsets(GROUP, [("orders", 0)]).reply == (
        Code.GROUP_SUBSCRIBED_TO_TOPIC,
    )
