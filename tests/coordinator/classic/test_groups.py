"""Members join, sync, beat and leave; each test is a conversation with one coordinator.

The expected answers are those of Apache Kafka 4.1.1 to the same requests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ottla.coordinator.classic.group import MAY_FOLLOW, State
from ottla.coordinator.classic.requests import JoinReply, JoinRequest, LeavingMember, SyncRequest
from ottla.coordinator.groups import ClaimedMember
from ottla.protocol.errors import Code, Refused
from tests.coordinator.group_conversation import (
    GROUP,
    RANGE,
    REBALANCE_MS,
    SESSION_MS,
    Client,
    GroupTalk,
    joined_group,
    stable_group,
    subscription,
)
from tests.coordinator.moments import at


def test_a_dynamic_member_is_given_its_id_and_joins_with_it(talk: GroupTalk, a: Client) -> None:
    assert a.ask_for_id() is Code.MEMBER_ID_REQUIRED
    assert a.member_id.startswith("a-")
    assert talk.state == "Empty"
    assert a.join() is None
    talk.pass_time()
    reply = a.joined()
    assert reply is not None
    assert (reply.generation_id, reply.protocol_type, reply.protocol) == (1, "consumer", "range")
    assert reply.leader == reply.member_id == a.member_id
    assert [tuple(member) for member in reply.members] == [(a.member_id, None, RANGE[0][1])]


def test_a_client_of_version_3_or_older_is_a_member_at_once(talk: GroupTalk) -> None:
    a = Client(talk, "a", version=3)
    assert a.join() is None
    talk.pass_time()
    assert a.joined() is not None
    assert a.member_id.startswith("a-")


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_a_session_timeout_out_of_bounds_is_refused(session_ms: int, talk: GroupTalk) -> None:
    assert Client(talk, "a", session_ms=session_ms).join() is Code.INVALID_SESSION_TIMEOUT
    assert talk.state == "Dead"


@pytest.mark.parametrize("session_ms", [6_000, 1_800_000])
def test_a_session_timeout_at_the_bounds_is_taken(session_ms: int) -> None:
    assert Client(GroupTalk(), "a", session_ms=session_ms).join() is None


def test_a_member_id_that_was_never_issued_is_unknown(talk: GroupTalk) -> None:
    stranger = Client(talk, "stranger")
    stranger.member_id = "nobody-1"
    assert stranger.join() is Code.UNKNOWN_MEMBER_ID
    assert talk.state == "Dead", "a stranger makes no group"
    stable_group(talk, Client(talk, "a"))
    assert stranger.join() is Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "wrong", [{"protocols": ()}, {"protocol_type": ""}], ids=["no protocols", "no type"]
)
def test_a_first_member_without_a_protocol_is_refused_yet_makes_the_group(
    wrong: dict[str, Any], talk: GroupTalk
) -> None:
    a = Client(talk, "a", **wrong)
    assert a.join() is Code.INCONSISTENT_GROUP_PROTOCOL
    assert talk.state == "Empty"
    talk.restart()
    assert talk.state == "Empty"


@pytest.mark.parametrize("other", [{"protocol_type": "connect"}, {"protocols": (("sticky", b""),)}])
def test_a_member_without_a_common_protocol_is_refused(other: dict[str, Any]) -> None:
    talk = GroupTalk()
    stable_group(talk, Client(talk, "a"))
    b = Client(talk, "b", **other)
    assert b.join() is Code.INCONSISTENT_GROUP_PROTOCOL
    assert talk.state == "Stable"


def test_an_empty_group_takes_members_of_any_type(talk: GroupTalk) -> None:
    a = Client(talk, "a", protocol_type="connect", protocols=(("sessioned", b"q"),))
    stable_group(talk, a)
    assert a.leave() is Code.NONE
    assert (talk.state, talk.group.protocol_type) == ("Empty", "connect")
    stable_group(talk, Client(talk, "b"))
    assert talk.group.protocol_type == "consumer"


def test_a_second_member_makes_the_first_rejoin(talk: GroupTalk, a: Client, b: Client) -> None:
    stable_group(talk, a)
    assert b.join() is None
    assert talk.state == "PreparingRebalance"
    assert a.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert a.sync() is Code.REBALANCE_IN_PROGRESS
    assert b.joined() is None
    assert a.join() is Code.NONE, "the last one need not wait"
    assert b.joined() == JoinReply(
        b.member_id, generation_id=2, protocol_type="consumer", protocol="range", leader=a.member_id
    )
    assert talk.state == "CompletingRebalance"
    assert (a.heartbeat(), b.heartbeat()) == (Code.NONE, Code.NONE)


def test_followers_wait_for_the_assignment_of_the_leader(talk: GroupTalk) -> None:
    a, b, c = (Client(talk, name) for name in "abc")
    joined_group(talk, a, b, c)
    assert b.sync() is None
    assert b.synced() is None
    assert a.sync({a: b"1", b: b"2", c: b"3"}) == b"1"
    assert b.synced() == b"2"
    assert c.sync() == b"3", "late, but it need not wait"
    assert (talk.state, talk.group.protocol) == ("Stable", "range")
    assert a.sync() == b"1", "asking again is answered again"


def test_a_member_that_the_leader_left_out_gets_nothing(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    joined_group(talk, a, b)
    assert b.sync() is None
    assert a.sync({a: b"1"}) == b"1"
    assert b.synced() == b""


def test_sync_is_refused_to_strangers_old_generations_and_other_protocols(talk: GroupTalk) -> None:
    a = Client(talk, "a")
    assert a.sync() is Code.UNKNOWN_MEMBER_ID, "there is no group"
    stable_group(talk, a)
    assert Client(talk, "nobody").sync() is Code.UNKNOWN_MEMBER_ID
    assert a.sync(protocol="sticky") is Code.INCONSISTENT_GROUP_PROTOCOL
    assert a.sync(protocol="range") == b"a"
    a.protocol_type = "connect"
    assert a.sync() is Code.INCONSISTENT_GROUP_PROTOCOL
    a.generation_id += 1
    assert a.sync() is Code.ILLEGAL_GENERATION
    a.generation_id -= 1
    a.leave()
    assert a.sync() is Code.UNKNOWN_MEMBER_ID, "the group is empty"


def test_a_follower_that_rejoins_gets_the_same_answer(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    joined_group(talk, a, b)
    assert (a.join(), b.join()) == (Code.NONE, Code.NONE), "neither changes the generation"
    assert (a.generation_id, talk.state) == (1, "CompletingRebalance")
    b.sync()
    a.sync({b: b"2"})
    assert b.join() is Code.NONE
    assert (b.generation_id, talk.state) == (1, "Stable")


def test_a_leader_that_joins_again_wants_a_new_assignment(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    stable_group(talk, a, b)
    assert a.join() is None
    assert b.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert b.join() is Code.NONE
    assert b.generation_id == 2


def test_a_follower_with_other_metadata_makes_the_group_rebalance(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    stable_group(talk, a, b)
    b.protocols = (("range", subscription("orders", "stock")),)
    assert b.join() is None
    assert a.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert a.join() is Code.NONE
    reply = b.joined()
    assert reply is not None
    assert reply.members == (), "only the leader is told of the members"


def test_other_metadata_while_the_leader_assigns_begins_the_rebalance_anew(talk: GroupTalk) -> None:
    a, b, c = (Client(talk, name) for name in "abc")
    stable_group(talk, a, b)
    assert (c.join(), b.join(), a.join()) == (None, None, Code.NONE)
    assert (b.joined() is not None, c.joined() is not None) == (True, True)
    assert [member.assignment for member, _ in talk.group.members] == [b"a", b"b", b""]
    assert c.sync() is None
    b.protocols = (("range", subscription("stock")),)
    assert b.join() is None
    assert c.synced() is Code.REBALANCE_IN_PROGRESS
    assert a.sync({a: b"1"}) is Code.REBALANCE_IN_PROGRESS
    assert [member.assignment for member, _ in talk.group.members] == [b"", b"", b""]
    assert (a.join(), c.join()) == (None, Code.NONE)
    assert c.generation_id == 3
    assert a.joined() is not None
    assert a.sync({c: b"3"}) == b""
    assert c.sync() == b"3", "its first request was answered once"


def test_the_protocol_most_members_like_best_is_chosen(talk: GroupTalk) -> None:
    a = Client(talk, "a", protocols=(("x", b"1"), ("y", b"2"), ("z", b"3")))
    b = Client(talk, "b", protocols=(("y", b"4"), ("z", b"5"), ("q", b"")))
    c = Client(talk, "c", protocols=(("z", b"6"), ("y", b"7")))
    joined_group(talk, a, b, c)
    reply = a.joined()
    assert reply is not None
    assert reply.protocol == "y", "x is not for all; y has two votes, z one"
    assert [member.metadata for member in reply.members] == [b"2", b"4", b"7"]
    assert Client(talk, "d", protocols=(("x", b""),)).join() is Code.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(
    ("liked", "chosen"),
    [
        (("range", "sticky"), "sticky"),
        (("roundrobin", "range"), "range"),
        (("cooperative-sticky", "range"), "range"),
        (("sticky", "custom"), "custom"),
    ],
)
def test_equally_supported_protocols_are_ordered_as_in_java(
    liked: tuple[str, str], chosen: str
) -> None:
    for first, second in (liked, liked[::-1]):
        talk = GroupTalk()
        a = Client(talk, "a", protocols=((first, b""), (second, b"")))
        b = Client(talk, "b", protocols=((second, b""), (first, b"")))
        joined_group(talk, a, b)
        reply = b.joined()
        assert reply is not None
        assert reply.protocol == chosen


def test_when_a_member_leaves_the_others_rebalance_at_once(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    stable_group(talk, a, b)
    assert a.leave() is Code.NONE
    assert b.heartbeat() is Code.REBALANCE_IN_PROGRESS
    assert b.join() is Code.NONE
    reply = b.joined()
    assert b.generation_id == 2
    assert a.heartbeat() is Code.UNKNOWN_MEMBER_ID
    assert reply is None, "it was answered at once"
    assert b.sync({b: b"all"}) == b"all", "it leads now"


def test_when_the_last_member_leaves_the_group_is_empty_and_keeps_counting(talk: GroupTalk) -> None:
    a = Client(talk, "a")
    stable_group(talk, a)
    assert (a.leave(), talk.state) == (Code.NONE, "Empty")
    assert (a.leave(), a.heartbeat()) == (Code.UNKNOWN_MEMBER_ID, Code.UNKNOWN_MEMBER_ID)
    b = Client(talk, "b")
    stable_group(talk, b)
    assert b.generation_id == 3


def test_a_member_that_leaves_during_its_join_gets_unknown_member_id(talk: GroupTalk) -> None:
    a, b, c = (Client(talk, name) for name in "abc")
    stable_group(talk, a, b)
    assert b.join() is Code.NONE
    assert a.join() is None
    assert a.leave() is Code.NONE
    assert a.joined() == JoinReply("", Code.UNKNOWN_MEMBER_ID)
    assert (c.join(), b.join()) == (None, Code.NONE)
    assert c.joined() is not None
    assert c.sync() is None
    assert c.leave() is Code.NONE
    assert c.synced() is Code.UNKNOWN_MEMBER_ID


def test_several_leave_in_one_request_each_with_its_code(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b", instance="i")
    stable_group(talk, a, b)
    leaving = [
        LeavingMember(a.member_id),
        LeavingMember(a.member_id),
        LeavingMember("other", "i"),
        LeavingMember("", "nowhere"),
        LeavingMember("", None),
        LeavingMember("", "i"),
    ]
    assert talk.told(talk.machine.leave(GROUP, leaving, now=talk.now)) == (
        Code.NONE,
        Code.UNKNOWN_MEMBER_ID,
        Code.FENCED_INSTANCE_ID,
        Code.UNKNOWN_MEMBER_ID,
        Code.UNKNOWN_MEMBER_ID,
        Code.NONE,
    )
    assert talk.state == "Empty"


def test_a_leave_request_without_members_removes_no_member(talk: GroupTalk, a: Client) -> None:
    stable_group(talk, a)
    assert talk.told(talk.machine.leave(GROUP, [], now=talk.now)) == ()
    assert talk.state == "Stable"


def test_a_rebalance_waits_for_pending_members(talk: GroupTalk) -> None:
    a, pending = Client(talk, "a"), Client(talk, "pending")
    stable_group(talk, a)
    assert pending.ask_for_id() is Code.MEMBER_ID_REQUIRED
    assert talk.state == "Stable"
    assert pending.heartbeat() is Code.UNKNOWN_MEMBER_ID, "it is no member yet"
    assert a.join() is None
    assert pending.leave() is Code.NONE
    assert a.joined() is not None


def test_a_pending_member_that_leaves_makes_a_stable_group_rebalance(talk: GroupTalk) -> None:
    a, pending = Client(talk, "a"), Client(talk, "pending")
    stable_group(talk, a)
    pending.ask_for_id()
    assert pending.leave() is Code.NONE
    assert a.heartbeat() is Code.REBALANCE_IN_PROGRESS


def test_an_id_of_a_dynamic_member_is_no_id_of_a_static_one(talk: GroupTalk, a: Client) -> None:
    a.ask_for_id()
    a.instance = "i"
    assert a.join() is Code.UNKNOWN_SERVER_ERROR


def test_a_full_group_accepts_no_further_member() -> None:
    talk = GroupTalk(max_size=2)
    a, b, c = (Client(talk, name) for name in "abc")
    stable_group(talk, a, b)
    assert c.join() is Code.GROUP_MAX_SIZE_REACHED
    assert talk.state == "Stable"
    assert a.join() is None
    assert c.ask_for_id() is Code.MEMBER_ID_REQUIRED, "who has not rejoined may lose its place"
    assert c.join() is None
    assert a.join() is None, "who waits already keeps its place"
    assert b.join() is Code.GROUP_MAX_SIZE_REACHED
    assert b.heartbeat() is Code.UNKNOWN_MEMBER_ID
    assert a.join() is Code.NONE, "nobody is waited for any more"
    assert c.joined() is not None


def test_heartbeats_of_strangers_and_of_other_generations_are_refused(talk: GroupTalk) -> None:
    a = Client(talk, "a")
    assert a.heartbeat() is Code.UNKNOWN_MEMBER_ID
    stable_group(talk, a)
    a.generation_id = 0
    assert a.heartbeat() is Code.ILLEGAL_GENERATION


def test_requests_without_a_group_id_are_refused() -> None:
    machine = GroupTalk().machine
    sync = SyncRequest("", 0, "m")
    for refused in (
        lambda: machine.heartbeat("", ClaimedMember("m", 0), now=at(0)),
        lambda: machine.leave("", [LeavingMember("m")], now=at(0)),
        lambda: machine.sync(sync, ticket=1, now=at(0)),
        lambda: machine.delete_offsets("", []),
    ):
        with pytest.raises(Refused, match="INVALID_GROUP_ID"):
            refused()


def test_leaving_an_unknown_group_is_refused() -> None:
    assert Client(GroupTalk(), "a").leave() is Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("to", State)
@pytest.mark.parametrize("start", State)
def test_a_state_is_entered_only_from_those_it_may_follow(start: State, to: State) -> None:
    talk = GroupTalk()
    stable_group(talk, Client(talk, "a"))
    group = talk.machine.kinds.classic.get(GROUP)
    assert group is not None
    group.state = start
    if start in MAY_FOLLOW[to]:
        group.enter(to, 7)
        assert (group.state, group.state_timestamp_ms) == (to, 7)
    else:
        with pytest.raises(AssertionError):
            group.enter(to, 7)
        assert group.state is start


def test_timeouts_are_those_of_the_request(talk: GroupTalk, a: Client) -> None:
    stable_group(talk, a)
    (member, _), *_ = talk.group.members
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (SESSION_MS, REBALANCE_MS)


@pytest.mark.parametrize("requires_known_member_id", [False, True])
@pytest.mark.parametrize("instance", [None, "i" * 32_740])
def test_a_member_whose_id_is_too_long_is_refused_without_a_change(
    instance: str | None, requires_known_member_id: bool, talk: GroupTalk
) -> None:
    """Kafka answers so, too, but late: the group can then not be described any more."""
    request = JoinRequest(
        GROUP, "", instance, "consumer", RANGE,
        session_timeout_ms=SESSION_MS, rebalance_timeout_ms=REBALANCE_MS,
        client_id="c" * 32_740 if instance is None else "c", client_host="/h",
        random_id="0" * 36, requires_known_member_id=requires_known_member_id,
    )  # fmt: skip
    with pytest.raises(Refused) as refused:
        talk.machine.join(request, ticket=1, now=talk.now)
    assert refused.value.code is Code.UNKNOWN_SERVER_ERROR
    assert talk.machine.describe(GROUP) is None
    fits = replace(request, client_id="c", group_instance_id=instance and "i" * 32_730)
    talk.machine.join(fits, ticket=2, now=talk.now)
