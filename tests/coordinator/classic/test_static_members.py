"""Static members (KIP-345): a member that returns with its group.instance.id keeps its place.

The expected answers are those of Apache Kafka 4.1.1 to the same requests.
"""

from __future__ import annotations

import pytest

from ottla.protocol.errors import Code
from tests.coordinator.group_conversation import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Client,
    GroupTalk,
    joined_group,
    stable_group,
    subscription,
)


def static(talk: GroupTalk, name: str, version: int = 9) -> Client:
    """A client whose instance is the first letter of its name."""
    return Client(talk, name, instance=name[0], version=version)


def test_a_static_member_joins_at_once_and_is_named_after_its_instance(talk: GroupTalk) -> None:
    a = static(talk, "a")
    stable_group(talk, a)
    assert a.member_id.startswith("a-")
    reply = talk.group.members[0][0]
    assert reply.group_instance_id == "a"


@pytest.mark.parametrize("version", [5, 8, 9])
def test_a_returning_static_follower_causes_no_rebalance(version: int, talk: GroupTalk) -> None:
    a, b = static(talk, "a", version), static(talk, "b", version)
    stable_group(talk, a, b)
    again = static(talk, "b2", version)
    assert again.join() is Code.NONE
    assert again.member_id != b.member_id
    assert again.generation_id == 1
    assert again.sync() == b"b", "the assignment is the instance's"
    assert (a.heartbeat(), again.heartbeat()) == (Code.NONE, Code.NONE)


def test_the_member_before_is_fenced(talk: GroupTalk) -> None:
    a = static(talk, "a")
    stable_group(talk, a)
    static(talk, "a2").join()
    assert a.heartbeat() is Code.FENCED_INSTANCE_ID
    assert a.join() is Code.FENCED_INSTANCE_ID
    assert a.sync() is Code.FENCED_INSTANCE_ID
    assert a.commit(1) is Code.FENCED_INSTANCE_ID
    assert a.leave() is Code.FENCED_INSTANCE_ID
    a.instance = None
    assert a.heartbeat() is Code.UNKNOWN_MEMBER_ID, "without its instance nobody knows it"


def test_a_returning_static_member_may_change_its_subscription(talk: GroupTalk) -> None:
    """With the same protocol there is no rebalance; a restart keeps the new subscription."""
    stable_group(talk, static(talk, "a"))
    again = static(talk, "a2")
    again.protocols = (("range", subscription("stock")),)
    assert again.join() is Code.NONE
    for _ in range(2):
        outcome = talk.machine.delete_offsets(GROUP, [("orders", 0), ("stock", 0)])
        assert outcome.reply == (Code.NONE, Code.GROUP_SUBSCRIBED_TO_TOPIC)
        talk.restart()


def test_a_leader_that_comes_back_need_not_assign(talk: GroupTalk) -> None:
    a, b = static(talk, "a"), static(talk, "b")
    stable_group(talk, a, b)
    again = static(talk, "a2")
    reply = again._join()
    assert (reply.skip_assignment, reply.leader) == (True, again_id := reply.member_id)
    assert {member.member_id for member in reply.members} == {again_id, b.member_id}


def test_a_leader_that_comes_back_in_an_older_version_takes_the_old_one_for_its_leader() -> None:
    talk = GroupTalk()
    a, b = static(talk, "a", 8), static(talk, "b", 8)
    stable_group(talk, a, b)
    reply = static(talk, "a2", 8)._join()
    assert (reply.skip_assignment, reply.leader, reply.members) == (False, a.member_id, ())


def test_coming_back_with_other_metadata_is_no_reason_to_rebalance(talk: GroupTalk) -> None:
    stable_group(talk, static(talk, "a"), static(talk, "b"))
    again = static(talk, "b2")
    again.protocols = (("range", subscription("stock")),)
    assert again.join() is Code.NONE
    assert talk.state == "Stable"


def test_coming_back_with_another_vote_is_one(talk: GroupTalk) -> None:
    a, b = static(talk, "a"), static(talk, "b")
    a.protocols = b.protocols = (("range", b""), ("sticky", b""))
    stable_group(talk, a, b)
    again = static(talk, "b2")
    again.protocols = (("sticky", b""),)
    assert again.join() is None
    assert a.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert a.join() is Code.NONE
    reply = again.joined()
    assert reply is not None
    assert reply.protocol == "sticky"


def test_coming_back_while_the_leader_assigns_begins_the_rebalance_anew(talk: GroupTalk) -> None:
    a, b = static(talk, "a"), static(talk, "b")
    joined_group(talk, a, b)
    assert b.sync() is None
    again = static(talk, "b2")
    assert again.join() is None
    assert b.synced() is Code.FENCED_INSTANCE_ID
    assert a.sync({a: b""}) is Code.REBALANCE_IN_PROGRESS
    assert a.join() is Code.NONE
    assert again.joined() is not None
    assert again.generation_id == 2


def test_a_static_member_that_returns_during_a_rebalance_replaces_the_waiting_one() -> None:
    talk = GroupTalk()
    a, b = static(talk, "a"), static(talk, "b")
    stable_group(talk, a, b)
    assert a.join() is None
    again = static(talk, "a2")
    assert again.join() is None
    reply = a.joined()
    assert reply is not None
    assert (reply.error, reply.member_id) == (Code.FENCED_INSTANCE_ID, a.member_id)
    assert b.join() is Code.NONE
    assert again.joined() is not None


def test_the_last_one_to_come_back_ends_the_rebalance(talk: GroupTalk) -> None:
    a, b = static(talk, "a"), static(talk, "b")
    stable_group(talk, a, b)
    assert a.join() is None
    assert static(talk, "b2").join() is Code.NONE
    assert a.joined() is not None


def test_a_static_member_that_is_late_for_a_rebalance_stays_a_member(talk: GroupTalk) -> None:
    a, b = static(talk, "a"), Client(talk, "b")
    a.session_ms = b.session_ms = 2 * REBALANCE_MS
    stable_group(talk, a, b)
    b.protocols = (("range", subscription("stock")),)
    assert b.join() is None
    talk.pass_time(REBALANCE_MS)
    reply = b.joined()
    assert reply is not None
    assert reply.leader == b.member_id, "the leader has to be there"
    assert len(reply.members) == 2
    assert b.sync({a: b"1", b: b"2"}) == b"2"
    assert a.heartbeat() is Code.ILLEGAL_GENERATION
    a.generation_id = 2
    assert a.sync() == b"1"


def test_a_rebalance_of_static_members_waits_although_none_has_joined(talk: GroupTalk) -> None:
    a, b = static(talk, "a"), Client(talk, "b")
    a.session_ms = 5 * REBALANCE_MS
    stable_group(talk, a, b)
    assert b.leave() is Code.NONE
    talk.pass_time(3 * REBALANCE_MS)
    assert talk.state == "PreparingRebalance"
    assert a.join() is Code.NONE
    assert a.generation_id == 2


def test_the_session_of_a_static_member_ends_too(talk: GroupTalk) -> None:
    a, b = static(talk, "a"), static(talk, "b")
    stable_group(talk, a, b)
    talk.pass_time(SESSION_MS - 1)
    assert a.heartbeat() is Code.NONE
    talk.pass_time(1)
    assert a.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert [member.group_instance_id for member, _ in talk.group.members] == ["a"]


def test_a_static_member_leaves_for_good_by_its_instance_alone(talk: GroupTalk) -> None:
    a = static(talk, "a")
    stable_group(talk, a)
    a.member_id = ""
    assert a.leave() is Code.NONE
    assert talk.state == "Empty"
    stable_group(talk, static(talk, "a2"))
    assert talk.group.members[0][0].assignment == b"a2", "nothing of the old member is left"


def test_the_new_member_id_outlives_a_restart(talk: GroupTalk) -> None:
    stable_group(talk, static(talk, "a"), static(talk, "b"))
    again = static(talk, "a2")
    again.join()
    talk.restart()
    assert again.heartbeat() is Code.NONE
    assert again.sync() == b"a"
