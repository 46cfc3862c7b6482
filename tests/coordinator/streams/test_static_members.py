"""Static members of streams groups: leaving for a while, and who takes over."""

from __future__ import annotations

import pytest

from ottla.protocol.errors import Code
from tests.coordinator.streams.conversation import SESSION_MS, Member, StreamsTalk


def a_static_member(talk: StreamsTalk, member_id: str = "a") -> Member:
    member = Member(talk, member_id, process_id="p", instance_id="i1")
    member.beat()
    return member


def test_an_instance_that_is_away_keeps_its_tasks_for_the_next_member(talk: StreamsTalk) -> None:
    a = a_static_member(talk)
    assert Member(talk, "b", instance_id="i1").refused() is Code.UNRELEASED_INSTANCE_ID
    epoch = talk.streams_group.epoch
    a.beat(member_epoch=-2)
    assert list(talk.streams_group.members) == ["a"]
    b = a_static_member(talk, "b")
    assert (b.active, list(talk.streams_group.members)) == ({"0": [0, 1]}, ["b"])
    assert talk.streams_group.epoch == epoch, "nothing else has changed"
    assert a.refused(member_epoch=epoch) is Code.FENCED_INSTANCE_ID
    assert b.beat().tasks is None


def test_the_same_member_may_come_back(talk: StreamsTalk) -> None:
    a = a_static_member(talk)
    a.beat(member_epoch=-2)
    a.beat(member_epoch=0)
    assert a.active == {"0": [0, 1]}
    talk.pass_time(SESSION_MS - 1)
    assert list(talk.streams_group.members) == ["a"], "its session has begun again"


def test_an_instance_that_stays_away_is_removed_with_its_session(talk: StreamsTalk) -> None:
    a_static_member(talk).beat(member_epoch=-2)
    talk.pass_time(SESSION_MS)
    assert talk.streams_group.members == {}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"instance_id": "i9"}, Code.UNKNOWN_MEMBER_ID),
        ({"member_epoch": -2, "instance_id": None}, Code.INVALID_REQUEST),
    ],
)
def test_a_request_of_another_instance_is_refused(fields: dict[str, object], code: Code) -> None:
    talk = StreamsTalk()
    assert a_static_member(talk).refused(**fields) is code


def test_another_address_of_an_instance_needs_no_new_assignment(talk: StreamsTalk) -> None:
    a = a_static_member(talk)
    epoch = talk.streams_group.epoch
    a.beat(client_host="/10.0.0.7")
    assert talk.streams_group.members["a"].client_host == "/10.0.0.7"
    assert talk.streams_group.epoch == epoch
    a.beat(process_id="another")
    assert talk.streams_group.epoch == epoch + 1
