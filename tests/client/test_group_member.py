"""A member of a consumer group whose coordinator forgets it joins again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import pytest

from ottla.client.cluster_client import Client, ErrorAnswer
from ottla.client.group_member import Change, GroupMember
from ottla.protocol.errors import Code

TOPIC_ID = UUID(int=7)


@dataclass
class Partitions:
    """Partitions of a topic, as metadata and assignments have them."""

    topic_id: UUID
    partitions: list[int]


@dataclass
class Assigned:
    topic_partitions: list[Partitions]


@dataclass
class Answer:
    """An answer of ConsumerGroupHeartbeat."""

    member_epoch: int
    assignment: Assigned
    heartbeat_interval_ms: int = 3_600_000


class OneTopic:
    """A client that knows one topic."""

    def metadata(self, _: list[str]) -> list[Partitions]:
        return [Partitions(TOPIC_ID, [0, 1])]


def answer(epoch: int, *partitions: int) -> Answer:
    return Answer(epoch, Assigned([Partitions(TOPIC_ID, list(partitions))]))


class Scripted(GroupMember):
    """A member whose heartbeats have given answers."""

    def __init__(self, *answers: Answer | Code) -> None:
        super().__init__(cast("Client", OneTopic()), "readers", "t")
        self.answers = list(answers)
        self.epochs: list[int] = []

    def _heartbeat(self, more: dict[str, Any]) -> Any:  # Any: parts of messages
        self.epochs.append(self.member_epoch)
        given = self.answers.pop(0)
        if isinstance(given, Code):
            raise ErrorAnswer(given, "readers")
        return given


@pytest.mark.parametrize("lost", [Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH])
def test_a_member_that_is_lost_when_it_takes_partitions_over_joins_again(lost: Code) -> None:
    member = Scripted(answer(1, 0, 1), lost, answer(2, 0, 1), answer(2, 0, 1))
    assert member.poll() == Change((), (0, 1))
    member.accept()  # the coordinator has forgotten the member meanwhile
    assert member.poll() == Change((0, 1), ())
    member.accept()
    assert member.poll() == Change((), (0, 1))
    member.accept()
    assert member.partitions == (0, 1)
    assert member.epochs == [0, 1, 0, 2]


def test_a_member_that_may_not_join_says_so() -> None:
    member = Scripted(Code.UNKNOWN_MEMBER_ID)
    with pytest.raises(ErrorAnswer):
        member.poll()
