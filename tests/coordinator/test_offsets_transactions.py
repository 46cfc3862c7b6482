"""Offsets in transactions (KIP-98, KIP-447): pending until the marker, and in the log's order."""

from __future__ import annotations

import pytest

from ottla.coordinator.group_records import GroupRemoved
from ottla.coordinator.groups import ClaimedMember
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Producer
from ottla.protocol.errors import Code
from tests.coordinator.group_conversation import GROUP, Client, GroupTalk, stable_group
from tests.coordinator.moments import at

PRODUCER = Producer(7, 0)
OTHER = Producer(8, 3)


def test_pending_offsets_are_invisible_and_make_the_partition_unstable(talk: GroupTalk) -> None:
    talk.commit(5)
    assert talk.commit_in(PRODUCER, 9) is Code.NONE
    assert talk.offset() == 5
    assert talk.offset(stable=True) is Code.UNSTABLE_OFFSET_COMMIT
    assert talk.offset("stock", stable=True) == -1, "other partitions are stable"


@pytest.mark.parametrize(("commit", "expected"), [(True, 9), (False, 5)])
@pytest.mark.parametrize("restart", ["never", "pending", "ended"])
def test_the_marker_decides(commit: bool, expected: int, restart: str, talk: GroupTalk) -> None:
    talk.commit(5)
    talk.commit_in(PRODUCER, 9)
    if restart == "pending":
        talk.restart()
        assert talk.offset(stable=True) is Code.UNSTABLE_OFFSET_COMMIT
    talk.end_transaction(PRODUCER, commit=commit)
    if restart == "ended":
        talk.restart()
    assert talk.offset(stable=True) == expected


def test_the_outcome_is_written_by_the_producer(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 9)
    assert [producer for _, producer in talk.log] == [PRODUCER]


def test_a_plain_commit_made_meanwhile_is_not_undone(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 9)
    talk.commit(20)
    assert talk.offset() == 20
    talk.end_transaction(PRODUCER, commit=True)
    assert talk.offset(stable=True) == 20, "it is the later one in the log"


def test_the_later_write_of_two_transactions_wins(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 1)
    talk.commit_in(OTHER, 2)
    talk.end_transaction(OTHER, commit=True)
    assert talk.offset(stable=True) is Code.UNSTABLE_OFFSET_COMMIT
    talk.end_transaction(PRODUCER, commit=True)
    assert talk.offset(stable=True) == 2
    talk.restart()
    assert talk.offset(stable=True) == 2


def test_the_last_offset_of_a_transaction_counts(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 1)
    talk.commit_in(PRODUCER, 2)
    talk.end_transaction(PRODUCER, commit=True)
    assert talk.offset() == 2


def test_a_marker_ends_the_transaction_of_its_producer_alone(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 1)
    talk.end_transaction(OTHER, commit=True)
    assert talk.offset(stable=True) is Code.UNSTABLE_OFFSET_COMMIT


def test_the_next_transaction_of_a_producer_begins_with_nothing(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 1)
    talk.end_transaction(PRODUCER, commit=False)
    talk.end_transaction(Producer(7, 1), commit=True)
    assert talk.offset(stable=True) == -1


def test_deleting_an_offset_deletes_its_pending_offsets(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 9)
    talk.commit_in(OTHER, 10)
    outcome = talk.machine.delete_offsets(GROUP, [("orders", 0)])
    assert talk.told(outcome) == (Code.NONE,)
    assert talk.offset(stable=True) == -1
    talk.end_transaction(PRODUCER, commit=True)
    talk.end_transaction(OTHER, commit=True)
    assert talk.offset() == -1
    talk.restart()
    assert talk.offset() == -1


def test_deleting_an_offset_leaves_the_rest_of_the_transaction(talk: GroupTalk) -> None:
    for group_id, topics in ((GROUP, ("orders", "stock")), ("others", ("orders",))):
        offsets = [OffsetToCommit(topic, 0, 9) for topic in topics]
        talk.told(
            talk.machine.commit_in_transaction(
                group_id, ClaimedMember(), PRODUCER, offsets, now=at(0)
            )
        )
    for topic in ("orders", "stock"):
        assert talk.offset(topic, stable=True) is Code.UNSTABLE_OFFSET_COMMIT
        talk.told(talk.machine.delete_offsets(GROUP, [(topic, 0)]))
        assert talk.offset(topic, stable=True) == -1
    talk.end_transaction(PRODUCER, commit=True)
    assert talk.machine.fetch_offset("others", "orders", 0, require_stable=True).offset == 9


def test_deleting_a_group_deletes_its_pending_offsets(talk: GroupTalk) -> None:
    talk.commit(5)
    talk.commit_in(PRODUCER, 9)
    outcome = talk.machine.delete([GROUP])
    talk.told(outcome)
    assert len(outcome.records) == 2, "the offset is named once, then the group"
    assert outcome.records[-1] == GroupRemoved(GROUP)
    talk.end_transaction(PRODUCER, commit=True)
    assert (talk.offset(stable=True), talk.state) == (-1, "Dead")


def test_deleting_a_group_deletes_offsets_that_are_only_pending(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 9)
    talk.told(talk.machine.delete([GROUP]))
    talk.end_transaction(PRODUCER, commit=True)
    assert (talk.offset(), talk.state) == (-1, "Dead")


def test_a_group_of_which_only_pending_offsets_are_known_is_empty(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 9)
    assert talk.state == "Empty"


def test_a_fenced_instance_and_an_old_generation_commit_nothing(talk: GroupTalk) -> None:
    a = Client(talk, "a", instance="i")
    stable_group(talk, a)
    committer = a.committer
    for changed, code in (
        ({}, Code.NONE),
        ({"member_id": "other"}, Code.FENCED_INSTANCE_ID),
        ({"group_instance_id": "j"}, Code.UNKNOWN_MEMBER_ID),
        ({"generation_id": 0}, Code.ILLEGAL_GENERATION),
    ):
        fields = {name: getattr(committer, name) for name in type(committer).__slots__}
        assert talk.commit_in(PRODUCER, 5, type(committer)(**{**fields, **changed})) is code


def test_only_offsets_are_committed_in_transactions() -> None:
    with pytest.raises(AssertionError):
        GroupTalk().machine.replay_pending(GroupRemoved(GROUP), PRODUCER)


def test_a_refusal_is_passed_on_as_it_is(talk: GroupTalk) -> None:
    stable_group(talk, Client(talk, "a"))
    assert talk.machine.delete([GROUP]).reply == {GROUP: Code.NON_EMPTY_GROUP}
