"""Committed offsets: the right to commit, the answers, and expiration."""

from __future__ import annotations

import pytest

from ottla.coordinator.group_records import OffsetCommitted
from ottla.coordinator.groups import ClaimedMember, FetchedOffset
from ottla.coordinator.offsets import OffsetToCommit
from ottla.coordinator.outcome import Producer
from ottla.protocol.errors import Code, Refused
from tests.coordinator.group_conversation import (
    GROUP,
    Client,
    GroupTalk,
    joined_group,
    stable_group,
    subscription,
)
from tests.coordinator.moments import at

PRODUCER = Producer(7, 0)

# The answer to a commit, by the state of the group and the sender: none (generation -1, no id), a
# stranger, a member in its generation, in the one before, and without a generation. In brackets
# the answer to TxnOffsetCommit where it is another one. Seen on Apache Kafka 4.1.1.
COMMIT = """
                        none             stranger           member                old                 ungenerated
  Dead                  NONE               GROUP_ID_NOT_FOUND - - -
  Empty                 NONE               UNKNOWN_MEMBER_ID  -                     -                   -
  Stable                UNKNOWN_MEMBER_ID[NONE] UNKNOWN_MEMBER_ID NONE ILLEGAL_GENERATION ILLEGAL_GENERATION
  PreparingRebalance    UNKNOWN_MEMBER_ID[NONE] UNKNOWN_MEMBER_ID NONE ILLEGAL_GENERATION ILLEGAL_GENERATION
  CompletingRebalance   UNKNOWN_MEMBER_ID[NONE] UNKNOWN_MEMBER_ID REBALANCE_IN_PROGRESS[NONE] ILLEGAL_GENERATION ILLEGAL_GENERATION
"""  # noqa: E501


def cells(table: str) -> list[tuple[str, str, str]]:
    """Row, column and content of each cell that is not empty."""
    columns, *rows = (line.split() for line in table.strip().splitlines())
    return [
        (row, column, cell)
        for row, *words in rows
        for column, cell in zip(columns, words, strict=True)
        if cell != "-"
    ]


def group_in(state: str) -> tuple[GroupTalk, Client]:
    talk = GroupTalk()
    a, b = Client(talk, "a"), Client(talk, "b")
    if state == "CompletingRebalance":
        joined_group(talk, a)
    elif state != "Dead":
        stable_group(talk, a)
    if state == "Empty":
        a.leave()
    if state == "PreparingRebalance":
        b.join()
    assert talk.state == state
    return talk, a


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@pytest.mark.parametrize(("state", "who", "cell"), cells(COMMIT))
def test_a_commit_is_answered_as_the_table_says(
    state: str, who: str, cell: str, transactional: bool
) -> None:
    talk, a = group_in(state)
    committer = {
        "none": ClaimedMember(),
        "stranger": ClaimedMember("none-1", 1),
        "member": a.committer,
        "old": ClaimedMember(a.member_id, a.generation_id - 1),
        "ungenerated": ClaimedMember(a.member_id, -1),
    }[who]
    plain, _, other = cell.rstrip("]").partition("[")
    answer = talk.commit_in(PRODUCER, 5, committer) if transactional else talk.commit(5, committer)
    assert answer.name == (other or plain if transactional else plain)
    assert talk.offset() == (5 if answer is Code.NONE and not transactional else -1)


def test_no_state_is_missing_from_the_table() -> None:
    assert {row for row, _, _ in cells(COMMIT)} == {
        "Dead", "Empty", "Stable", "PreparingRebalance", "CompletingRebalance",
    }  # fmt: skip


def test_a_commit_in_a_transaction_without_a_group_id_is_refused() -> None:
    with pytest.raises(Refused, match="INVALID_GROUP_ID"):
        GroupTalk().machine.commit_in_transaction("", ClaimedMember(), PRODUCER, [], now=at(0))


def test_committed_offsets_are_fetched_unchanged(talk: GroupTalk) -> None:
    offsets = [OffsetToCommit("orders", 0, 5, 3, "no\0te"), OffsetToCommit("orders", 1, 6)]
    talk.told(talk.machine.commit(GROUP, ClaimedMember(), offsets, now=talk.now))
    talk.restart()
    fetch = talk.machine.fetch_offset
    assert fetch(GROUP, "orders", 0, require_stable=False) == FetchedOffset(5, 3, "no\0te")
    assert fetch(GROUP, "orders", 1, require_stable=True) == FetchedOffset(6, -1, "")
    assert fetch(GROUP, "orders", 2, require_stable=True) == FetchedOffset(-1, -1, "")
    assert fetch("others", "orders", 0, require_stable=False) == FetchedOffset(-1, -1, "")
    assert talk.machine.committed_partitions(GROUP) == {"orders": [0, 1]}
    assert talk.machine.committed_partitions("others") == {}


def test_the_last_commit_counts(talk: GroupTalk) -> None:
    for offset in (5, 9, 2):
        talk.commit(offset)
    assert talk.offset() == 2
    talk.restart()
    assert talk.offset() == 2


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        (None, Code.NONE),
        ("a" * 8, Code.NONE),
        ("a" * 9, Code.OFFSET_METADATA_TOO_LARGE),
        ("\U0001f600" * 4, Code.NONE),
        ("\U0001f600" * 5, Code.OFFSET_METADATA_TOO_LARGE),
        ("é" * 8, Code.NONE),
    ],
)
def test_the_size_of_metadata_is_counted_as_java_does(metadata: str | None, code: Code) -> None:
    talk = GroupTalk(offset_metadata_max_size=8)
    offsets = [OffsetToCommit("orders", 0, 5, metadata=metadata), OffsetToCommit("orders", 1, 6)]
    outcome = talk.machine.commit(GROUP, ClaimedMember(), offsets, now=at(0))
    assert talk.told(outcome) == (code, Code.NONE), "the others are committed"
    assert talk.offset() == (5 if code is Code.NONE else -1)


def test_a_group_is_not_made_by_a_commit_of_which_nothing_is_taken() -> None:
    talk = GroupTalk(offset_metadata_max_size=0)
    offsets = [OffsetToCommit("orders", 0, 5, metadata="a")]
    talk.told(talk.machine.commit(GROUP, ClaimedMember(), offsets, now=at(0)))
    assert talk.state == "Dead"


# OffsetDelete


def test_deleted_offsets_are_gone_and_stay_gone(talk: GroupTalk) -> None:
    talk.commit(5)
    outcome = talk.machine.delete_offsets(GROUP, [("orders", 0), ("orders", 1)])
    assert talk.told(outcome) == (Code.NONE, Code.NONE), "that there is none is no error"
    assert len(outcome.records) == 1
    assert talk.offset() == -1
    talk.restart()
    assert (talk.offset(), talk.state) == (-1, "Empty")


def test_offsets_of_topics_that_are_consumed_are_kept(talk: GroupTalk) -> None:
    a = Client(talk, "a", protocols=(("range", subscription("orders", "stock")),))
    stable_group(talk, a)
    for topic in ("orders", "bills"):
        talk.commit(5, a.committer, topic=topic)
    outcome = talk.machine.delete_offsets(GROUP, [("orders", 0), ("bills", 0), ("stock", 0)])
    subscribed = Code.GROUP_SUBSCRIBED_TO_TOPIC
    assert talk.told(outcome) == (subscribed, Code.NONE, subscribed)
    assert (talk.offset("orders"), talk.offset("bills")) == (5, -1)


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        bytes(2),
        bytes(2) + (1).to_bytes(4),
        bytes(2) + (1).to_bytes(4) + (9).to_bytes(2) + b"orders",
        bytes(2) + (-1).to_bytes(4, signed=True),
        (-1).to_bytes(2, signed=True) + bytes(8),
        bytes(2) + (1).to_bytes(4) + (2).to_bytes(2) + b"\xff\xff" + bytes(4),
        bytes(2) + (1).to_bytes(4) + (-2).to_bytes(2, signed=True) + bytes(4),
        subscription("orders")[:-4] + (9).to_bytes(4) + b"cut",
    ],
)
def test_consumers_of_unreadable_subscriptions_consume_everything(metadata: bytes) -> None:
    talk = GroupTalk()
    a = Client(talk, "a", protocols=(("range", metadata),))
    stable_group(talk, a)
    a.commit(5)
    outcome = talk.machine.delete_offsets(GROUP, [("orders", 0)])
    assert outcome.reply == (Code.GROUP_SUBSCRIBED_TO_TOPIC,)


def test_user_data_in_a_subscription_does_not_matter(talk: GroupTalk) -> None:
    metadata = subscription("stock")[:-4] + (3).to_bytes(4) + b"abc" + b"a later version's fields"
    stable_group(talk, Client(talk, "a", protocols=(("range", metadata),)))
    assert talk.machine.delete_offsets(GROUP, [("orders", 0)]).reply == (Code.NONE,)


def test_offsets_of_other_protocol_types_are_deleted_only_from_empty_groups() -> None:
    talk = GroupTalk()
    a = Client(talk, "a", protocol_type="connect")
    stable_group(talk, a)
    with pytest.raises(Refused, match="NON_EMPTY_GROUP"):
        talk.machine.delete_offsets(GROUP, [("orders", 0)])
    a.leave()
    assert talk.machine.delete_offsets(GROUP, [("orders", 0)]).reply == (Code.NONE,)


def test_offsets_of_no_group_cannot_be_deleted() -> None:
    with pytest.raises(Refused, match="GROUP_ID_NOT_FOUND"):
        GroupTalk().machine.delete_offsets(GROUP, [("orders", 0)])


def test_offsets_of_a_topic_that_is_deleted_go_for_every_group(talk: GroupTalk) -> None:
    for group_id in (GROUP, "others"):
        for topic in ("orders", "stock"):
            offsets = [OffsetToCommit(topic, partition, 5) for partition in (0, 1)]
            talk.told(talk.machine.commit(group_id, ClaimedMember(), offsets, now=at(0)))
    talk.commit_in(PRODUCER, 9)
    before = len(talk.log)
    talk.told(talk.machine.forget_topic("orders"))
    talk.tick()
    assert len(talk.log) - before == 4, "one for what is committed and pending"
    talk.end_transaction(PRODUCER, commit=True)
    talk.commit_in(PRODUCER, 9)
    before = len(talk.log)
    talk.told(talk.machine.forget_topic("orders"))
    talk.tick()
    assert len(talk.log) - before == 1, "pending alone"
    talk.end_transaction(PRODUCER, commit=False)
    talk.restart()
    for group_id in (GROUP, "others"):
        assert talk.machine.committed_partitions(group_id) == {"stock": [0, 1]}


# Expiry

DAY_MS = 24 * 3_600_000
RETENTION_MS = 7 * DAY_MS
CHECK_MS = 600_000


def beat_for(talk: GroupTalk, client: Client, time_ms: int) -> None:
    """Let time pass while a member of an endless session stays alive."""
    end_ms = talk.now_ms + time_ms
    while talk.now_ms < end_ms:
        talk.pass_time(CHECK_MS)
        assert client.heartbeat() is Code.NONE


def test_offsets_of_an_empty_group_expire_by_age_together_with_it(talk: GroupTalk) -> None:
    talk.commit(5)
    talk.pass_time(RETENTION_MS - CHECK_MS)
    assert talk.offset() == 5
    talk.pass_time(CHECK_MS)
    assert (talk.offset(), talk.state) == (-1, "Dead")
    talk.restart()
    assert (talk.offset(), talk.state) == (-1, "Dead")


def test_offsets_of_a_group_that_was_left_expire_by_the_time_since() -> None:
    talk = GroupTalk(max_session_timeout_ms=DAY_MS)
    a = Client(talk, "a", session_ms=DAY_MS)
    stable_group(talk, a)
    a.commit(5)
    beat_for(talk, a, 10 * DAY_MS)
    assert talk.offset() == 5, "it consumes the topic"
    a.leave()
    talk.pass_time(RETENTION_MS - CHECK_MS)
    assert talk.offset() == 5
    talk.restart()
    talk.pass_time(2 * CHECK_MS)
    assert (talk.offset(), talk.state) == (-1, "Dead")


def test_offsets_of_a_topic_no_longer_consumed_expire_beside_live_members() -> None:
    talk = GroupTalk(max_session_timeout_ms=DAY_MS)
    a = Client(talk, "a", session_ms=DAY_MS)
    stable_group(talk, a)
    for topic in ("orders", "bills"):
        talk.commit(5, a.committer, topic=topic)
    beat_for(talk, a, RETENTION_MS)
    assert (talk.offset("orders"), talk.offset("bills")) == (5, -1)
    assert talk.state == "Stable"


@pytest.mark.parametrize("protocol_type", ["connect", "consumer"])
def test_offsets_stay_while_the_subscriptions_are_unknown(protocol_type: str) -> None:
    talk = GroupTalk(max_session_timeout_ms=DAY_MS)
    protocols = (("range", b"?"),)
    a = Client(talk, "a", session_ms=DAY_MS, protocol_type=protocol_type, protocols=protocols)
    stable_group(talk, a)
    a.commit(5)
    beat_for(talk, a, RETENTION_MS)
    assert talk.offset() == 5


def test_nothing_expires_during_a_rebalance() -> None:
    talk = GroupTalk(offsets_retention_ms=1_000, offsets_retention_check_interval_ms=1_000)
    a, b = Client(talk, "a"), Client(talk, "b")
    stable_group(talk, a)
    talk.commit(5, a.committer, topic="bills")
    b.join()
    talk.pass_time(3_000)
    assert (talk.state, talk.offset("bills")) == ("PreparingRebalance", 5)
    a.join()
    a.sync({a: b"1"})
    talk.pass_time(1_000)
    assert (talk.state, talk.offset("bills")) == ("Stable", -1)


def test_a_client_may_say_how_long_its_offsets_are_kept(talk: GroupTalk) -> None:
    offsets = [OffsetToCommit("orders", 0, 5)]
    talk.told(
        talk.machine.commit(GROUP, ClaimedMember(), offsets, retention_ms=DAY_MS, now=talk.now)
    )
    talk.restart()
    talk.pass_time(DAY_MS - CHECK_MS)
    assert talk.offset() == 5
    talk.pass_time(2 * CHECK_MS)
    assert talk.offset() == -1


@pytest.mark.parametrize("retention_ms", [2**63 - 1, -(2**63), -2])
def test_a_retention_beyond_all_time_ends_at_once(retention_ms: int, talk: GroupTalk) -> None:
    offsets = [OffsetToCommit("orders", 0, 5)]
    outcome = talk.machine.commit(
        GROUP, ClaimedMember(), offsets, retention_ms=retention_ms, now=talk.now
    )
    talk.told(outcome)
    talk.restart()
    assert talk.offset() == 5
    talk.pass_time(CHECK_MS)
    assert talk.offset() == -1


def test_an_empty_group_without_offsets_is_removed_at_the_next_check(talk: GroupTalk) -> None:
    a = Client(talk, "a")
    stable_group(talk, a)
    a.leave()
    talk.pass_time(CHECK_MS)
    assert talk.state == "Dead"


def test_pending_offsets_keep_the_offset_and_the_group(talk: GroupTalk) -> None:
    talk.commit(5)
    talk.commit_in(PRODUCER, 9)
    talk.pass_time(2 * RETENTION_MS)
    assert (talk.offset(), talk.state) == (5, "Empty")
    talk.end_transaction(PRODUCER, commit=False)
    talk.pass_time(CHECK_MS)
    assert (talk.offset(), talk.state) == (-1, "Dead")


def test_a_group_with_nothing_but_pending_offsets_is_kept(talk: GroupTalk) -> None:
    talk.commit_in(PRODUCER, 9)
    talk.pass_time(2 * CHECK_MS)
    assert talk.state == "Empty"


def test_a_record_without_a_state_timestamp_expires_by_the_age_of_the_commit() -> None:
    talk = GroupTalk()
    stored = OffsetCommitted(GROUP, "orders", 0, 5, commit_timestamp_ms=talk.now_ms)
    a = Client(talk, "a")
    stable_group(talk, a)
    a.leave()
    last, _ = talk.log[-1]
    fields = {name: getattr(last, name) for name in type(last).__slots__}  # type: ignore[union-attr]  # another type would fail the test
    fields["current_state_timestamp_ms"] = -1
    talk.log = [(type(last)(**fields), None), (stored, None)]
    talk.restart()
    talk.pass_time(RETENTION_MS - 1)
    assert talk.offset() == 5
    talk.pass_time(CHECK_MS)
    assert talk.offset() == -1
