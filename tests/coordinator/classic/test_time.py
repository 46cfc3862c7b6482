"""What groups wait for, and for how long. The clock is a number."""

from __future__ import annotations

import pytest

from ottla.coordinator.classic.requests import JoinReply, LeavingMember, SyncRequest
from ottla.coordinator.groups import ClaimedMember
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Answer, Effect
from ottla.protocol.errors import Code
from tests.coordinator.group_conversation import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    START_MS,
    Client,
    GroupTalk,
    joined_group,
    stable_group,
)
from tests.coordinator.moments import at

DELAY_MS = 3_000


def test_an_empty_group_waits_for_more_members_before_it_begins() -> None:
    talk = GroupTalk(initial_rebalance_delay_ms=DELAY_MS)
    a, b = Client(talk, "a"), Client(talk, "b")
    assert a.join() is None
    talk.pass_time(DELAY_MS - 1)
    assert a.joined() is None
    assert b.join() is None
    talk.pass_time(1)
    assert a.joined() is None, "the new member makes it wait once more"
    talk.pass_time(DELAY_MS)
    assert (a.joined() is not None, b.joined() is not None) == (True, True)
    assert (a.generation_id, b.generation_id) == (1, 1)


def test_a_rebalance_waits_no_longer_than_its_timeout() -> None:
    talk = GroupTalk(initial_rebalance_delay_ms=DELAY_MS)
    clients = [Client(talk, f"c{number}", rebalance_ms=7_000) for number in range(20)]
    for client in clients:
        assert client.join() is None
        talk.pass_time(500)
        if clients[0].joined() is not None:
            break
    assert talk.now_ms - START_MS == 7_000


def test_a_member_that_leaves_an_empty_group_during_its_delay_leaves_it_empty() -> None:
    talk = GroupTalk(initial_rebalance_delay_ms=DELAY_MS)
    a = Client(talk, "a")
    a.join()
    assert a.leave() is Code.NONE
    assert talk.state == "PreparingRebalance", "the delay goes on"
    talk.pass_time(DELAY_MS)
    assert talk.state == "Empty"
    assert a.joined() == JoinReply("", Code.UNKNOWN_MEMBER_ID)
    group = talk.machine.kinds.classic.get(GROUP)
    assert group is not None
    assert group.initial_delay is None


def test_a_member_without_heartbeats_is_dropped_when_its_session_ends(talk: GroupTalk) -> None:
    a = Client(talk, "a")
    stable_group(talk, a)
    talk.pass_time(SESSION_MS - 1)
    assert a.heartbeat() is Code.NONE
    talk.pass_time(SESSION_MS - 1)
    assert talk.state == "Stable"
    talk.pass_time(1)
    assert (a.heartbeat(), talk.state) == (Code.UNKNOWN_MEMBER_ID, "Empty")


def test_the_session_that_ends_makes_the_others_rebalance(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b", session_ms=6_000)
    stable_group(talk, a, b)
    talk.pass_time(6_000)
    assert a.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert a.join() is Code.NONE
    assert len(talk.group.members) == 1


def test_when_all_sessions_end_at_once_the_group_is_emptied_once(talk: GroupTalk) -> None:
    clients = [Client(talk, name) for name in "abcd"]
    stable_group(talk, *clients)
    before = len(talk.log)
    talk.pass_time(SESSION_MS)
    assert talk.state == "Empty"
    assert len(talk.log) == before + 1


def test_a_member_waiting_for_a_rebalance_needs_no_heartbeats(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b", session_ms=REBALANCE_MS)
    stable_group(talk, a, b)
    assert a.join() is None
    talk.pass_time(REBALANCE_MS - 1)
    assert a.joined() is None
    assert b.join() is Code.NONE
    assert a.joined() is not None
    talk.pass_time(SESSION_MS - 1)
    assert a.heartbeat() is Code.NONE, "its session began again with the answer"


def test_a_member_waiting_for_its_assignment_needs_no_heartbeats(talk: GroupTalk) -> None:
    a, b = Client(talk, "a", session_ms=60_000), Client(talk, "b")
    joined_group(talk, a, b)
    assert b.sync() is None
    talk.pass_time(SESSION_MS + 1)
    assert a.sync({b: b"2"}) == b""
    assert b.synced() == b"2"
    assert b.heartbeat() is Code.NONE


def test_a_rebalance_removes_late_members(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b", session_ms=600_000)
    stable_group(talk, a, b)
    assert a.join() is None
    talk.pass_time(REBALANCE_MS - 1)
    assert a.joined() is None
    talk.pass_time(1)
    assert a.joined() is not None
    assert b.heartbeat() is Code.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_timeout_of_the_members_counts(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b", session_ms=600_000, rebalance_ms=100_000)
    stable_group(talk, a, b)
    assert a.join() is None
    talk.pass_time(99_999)
    assert a.joined() is None
    talk.pass_time(1)
    assert a.joined() is not None


def test_a_member_that_does_not_sync_is_removed_after_the_rebalance_timeout() -> None:
    talk = GroupTalk()
    a, b = (Client(talk, name, session_ms=600_000) for name in "ab")
    joined_group(talk, a, b)
    assert b.sync() is None
    talk.pass_time(REBALANCE_MS)
    assert b.synced() is Code.REBALANCE_IN_PROGRESS
    assert b.join() is Code.NONE
    assert a.heartbeat() is Code.UNKNOWN_MEMBER_ID


def test_a_follower_that_never_syncs_is_dropped_from_a_stable_group(talk: GroupTalk) -> None:
    a, b = (Client(talk, name, session_ms=600_000) for name in "ab")
    joined_group(talk, a, b)
    assert a.sync({a: b"1", b: b"2"}) == b"1"
    talk.pass_time(REBALANCE_MS - 1)
    assert talk.state == "Stable"
    talk.pass_time(1)
    assert a.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert b.heartbeat() is Code.UNKNOWN_MEMBER_ID


def test_members_that_sync_in_time_stay(talk: GroupTalk) -> None:
    a, b = (Client(talk, name, session_ms=600_000) for name in "ab")
    stable_group(talk, a, b)
    talk.pass_time(2 * REBALANCE_MS)
    assert talk.state == "Stable"


def test_an_id_that_is_not_used_in_a_session_is_forgotten(talk: GroupTalk) -> None:
    a, pending = Client(talk, "a"), Client(talk, "pending")
    stable_group(talk, a)
    pending.ask_for_id()
    assert a.join() is None
    talk.pass_time(SESSION_MS)
    assert a.joined() is not None, "nobody is waited for any more"
    assert pending.join() is Code.UNKNOWN_MEMBER_ID


def test_an_id_that_is_forgotten_does_not_disturb_a_stable_group(talk: GroupTalk) -> None:
    a, pending = Client(talk, "a", session_ms=60_000), Client(talk, "pending")
    stable_group(talk, a)
    pending.ask_for_id()
    talk.pass_time(SESSION_MS)
    assert a.heartbeat() is Code.NONE


def test_a_new_member_is_given_five_minutes_for_a_rebalance_that_does_not_end() -> None:
    talk = GroupTalk()
    a, b = Client(talk, "a", session_ms=1_000_000, rebalance_ms=1_000_000), Client(talk, "b")
    stable_group(talk, a)
    assert b.join() is None
    talk.pass_time(299_999)
    assert b.joined() is None
    talk.pass_time(1)
    assert b.joined() == JoinReply("", Code.UNKNOWN_MEMBER_ID)


@pytest.mark.parametrize("restart", [False, True])
def test_a_commit_is_as_good_as_a_heartbeat(restart: bool, talk: GroupTalk, a: Client) -> None:
    stable_group(talk, a)
    if restart:
        talk.restart()
        talk.pass_time()
    talk.pass_time(SESSION_MS - 1)
    assert a.commit(1) is Code.NONE
    talk.pass_time(SESSION_MS - 1)
    assert a.heartbeat() is Code.NONE


def test_nothing_is_waited_for_without_groups(talk: GroupTalk) -> None:
    assert talk.machine.next_deadline(talk.now) is None


def test_further_due_timers_of_a_group_are_decided_after_the_replay_of_the_record_before() -> None:
    talk = GroupTalk()
    a = Client(talk, "a", session_ms=600_000)
    leaving, late = Client(talk, "leaving"), Client(talk, "late", session_ms=REBALANCE_MS)
    stable_group(talk, a)
    leaving.ask_for_id()
    leaving.leave()  # starts a rebalance that no member joins
    late.ask_for_id()  # its time is up when the rebalance's is
    talk.now_ms += REBALANCE_MS
    due = talk.machine.tick(talk.now)
    emptied = next(due)
    assert len(emptied.records) == 1
    talk.told(emptied)
    assert talk.state == "Empty"
    due.close()
    assert talk.machine.next_deadline(talk.now) == talk.now_ms, "the rest is due at once"
    talk.tick()
    assert late.join() is Code.UNKNOWN_MEMBER_ID


def test_a_member_whose_sync_failed_needs_heartbeats_again(talk: GroupTalk) -> None:
    a = Client(talk, "a", session_ms=600_000, rebalance_ms=600_000)
    b, c = Client(talk, "b"), Client(talk, "c", session_ms=600_000)
    joined_group(talk, a, b)
    assert b.sync() is None
    talk.pass_time(2 * SESSION_MS)
    assert c.join() is None
    assert b.synced() is Code.REBALANCE_IN_PROGRESS
    talk.pass_time(SESSION_MS - 1)
    assert len(talk.group.members) == 3
    talk.pass_time(1)
    assert b.heartbeat() is Code.UNKNOWN_MEMBER_ID


def test_a_rebalance_ends_the_wait_for_the_syncs_of_the_one_before(talk: GroupTalk) -> None:
    a, b = (Client(talk, name, session_ms=600_000) for name in "ab")
    late = Client(talk, "late", session_ms=600_000, rebalance_ms=3 * REBALANCE_MS)
    joined_group(talk, a, b)
    assert late.join() is None
    talk.pass_time(2 * REBALANCE_MS)
    assert (talk.state, len(talk.group.members)) == ("PreparingRebalance", 3)


@pytest.mark.parametrize("how", ["left", "replaced", "pending"])
def test_a_deleted_group_waits_for_no_member(how: str, talk: GroupTalk) -> None:
    talk.told(
        talk.machine.commit("others", ClaimedMember(), [OffsetToCommit("orders", 0, 5)], now=at(0))
    )
    a = Client(talk, "a", instance=None if how == "pending" else "i")
    if how == "pending":
        a.ask_for_id()
    else:
        stable_group(talk, a)
    if how == "replaced":
        again = Client(talk, "again", instance="i")
        assert again.join() is Code.NONE
        again.leave()
    elif how == "left":
        a.leave()
    talk.told(talk.machine.delete([GROUP]))
    talk.pass_time(2 * SESSION_MS)
    assert talk.state == "Dead"


def test_members_keep_waiting_for_an_assignment_that_the_log_refuses(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    joined_group(talk, a, b)
    assert b.sync() is None
    parts = {client.member_id: client.name.encode() for client in (a, b)}
    sync = SyncRequest(GROUP, a.generation_id, a.member_id, assignments=parts)
    refused = talk.machine.sync(sync, ticket=next(talk.tickets), now=talk.now)
    assert refused.records, "which nobody appends: too few replicas are in sync"
    assert b.synced() is None
    assert a.sync({a: b"a", b: b"b"}) == b"a"
    assert b.synced() == b"b"


def test_waiting_members_must_rejoin_when_the_leader_expires(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    joined_group(talk, a, b)
    assert b.sync() is None
    sync = SyncRequest(GROUP, a.generation_id, a.member_id, assignments={})
    refused = talk.machine.sync(sync, ticket=next(talk.tickets), now=talk.now)
    assert refused.records, "which nobody appends"
    talk.pass_time(REBALANCE_MS)
    assert b.synced() is Code.REBALANCE_IN_PROGRESS
    b.join()
    talk.pass_time(SESSION_MS)
    assert b.joined() is not None
    assert b.sync({b: b"b"}) == b"b"


def test_a_removed_member_is_answered_even_if_the_log_refuses(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    joined_group(talk, a, b)
    assert b.sync() is None
    sync = SyncRequest(GROUP, a.generation_id, a.member_id, assignments={})
    assigned = talk.machine.sync(sync, ticket=next(talk.tickets), now=talk.now)
    left = talk.machine.leave(GROUP, [LeavingMember(b.member_id)], now=talk.now)
    assert [_is_sent_even_if_not_logged(each) for each in assigned.effects] == [False]
    assert [_is_sent_even_if_not_logged(each) for each in left.effects] == [True, True]


def _is_sent_even_if_not_logged(effect: Effect) -> bool:
    assert isinstance(effect, Answer)
    return effect.send_even_if_not_logged
