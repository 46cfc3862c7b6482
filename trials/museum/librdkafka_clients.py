"""Exhibits of librdkafka, by its client for Python, whose wheels contain it."""

from __future__ import annotations

from typing import Final

from .exhibit import Exhibit, Verdict, bug, no_bug
from .replay_trial import TOPIC, ReplayTrial
from .seen import Seen


def four_records(trial: ReplayTrial) -> None:
    """Offsets 0 to 3."""
    trial.broker.produce(TOPIC, ["a", "b", "c", "d"])


def stored_offset_is_committed(seen: Seen) -> Verdict | None:
    """Whether the offset that the program has stored became the group's."""
    commits = seen.requests("OffsetCommit")
    if seen.offsets == {0: 1} and seen.said("failed") == ["_NO_OFFSET"]:
        return bug("the stored offset 3 is left out, and the group stays at 1", *commits)
    if seen.offsets == {0: 3} and len(commits) == 2:
        return no_bug("the stored offset 3 is committed", *commits)
    return None


def move_the_leader(trial: ReplayTrial) -> None:
    """The other node leads, after the client has asked the first one."""
    trial.wait_said("before")
    trial.broker.move_leader(TOPIC, 0, 2)
    trial.tell("go on")


def on_node_one(trial: ReplayTrial) -> None:
    """Records, and a leader."""
    trial.broker.move_leader(TOPIC, 0, 1)
    trial.broker.produce(TOPIC, ["a", "b"])


def asks_the_new_leader(seen: Seen) -> Verdict | None:
    """Whether the question came to the new leader."""
    asked = seen.requests("ListOffsets")
    nodes = {each.node_id for each in asked}
    failed = seen.said("failed")
    if len(failed) == 5 and not seen.said("after") and nodes == {1}:
        return bug("all five calls ask the leader that was, and fail", *asked)
    if seen.said("after") and nodes == {1, 2}:
        return no_bug(f"after {len(failed)} failed call(s) it asks the new leader", *asked)
    return None


def second_times_out(trial: ReplayTrial) -> None:
    """The second batch times out and is not stored, while the third is on its way."""
    match = {"api": "Produce", "nth": 2}
    trial.broker.faults.add("delay", ms=300, match=match, goes_on=True)
    trial.broker.faults.add("error", code="REQUEST_TIMED_OUT", match=match)


def third_waits_for_second(seen: Seen) -> Verdict | None:
    """Whether all batches are stored, or the producer has failed."""
    sent = seen.requests("Produce")
    stored = seen.records.get(0, [])
    if seen.said("fatal") and len(stored) < 3:
        name = seen.said("fatal")[0]
        return bug(f"the third batch is out of order, which is fatal: {name}", *sent)
    if stored == ["a", "b", "c"] and len(seen.said("sent")) == 2 and not seen.said("fatal"):
        return no_bug("both are sent again, and stored in their order", *sent)
    return None


EXHIBITS: Final = (
    Exhibit(
        name="confluent-kafka-stored-offset",
        client="confluent-kafka",
        title="a stored offset without a leader epoch is not committed",
        issue="https://github.com/confluentinc/librdkafka/pull/4442",
        story="A program stores the offset to commit by its number. Such an offset has no "
        "leader epoch, and librdkafka takes it for an older one than the committed "
        "offset, which has.",
        affected="2.2.0",
        fixed="2.3.0",
        program="confluent_store_offset.py",
        before=four_records,
        check=stored_offset_is_committed,
    ),
    Exhibit(
        name="confluent-kafka-watermarks",
        client="confluent-kafka",
        title="get_watermark_offsets goes on to ask a leader that was",
        issue="https://github.com/confluentinc/librdkafka/pull/4225",
        story="The leader of a partition moves. The old one answers NOT_LEADER_OR_FOLLOWER, and "
        "the client does not ask for metadata: the call fails until the next refresh, "
        "five minutes later.",
        affected="2.2.0",
        fixed="2.3.0",
        program="confluent_watermarks.py",
        before=on_node_one,
        during=move_the_leader,
        check=asks_the_new_leader,
        nodes=2,
    ),
    Exhibit(
        name="confluent-kafka-offsets-for-times",
        client="confluent-kafka",
        title="offsets_for_times goes on to ask a leader that was",
        issue="https://github.com/confluentinc/librdkafka/pull/4970",
        story="The leader of a partition moves, and offsets_for_times asks the old one, call "
        "after call. The same was mended for get_watermark_offsets two years before.",
        affected="2.8.0",
        fixed="2.10.0",
        program="confluent_offsets_for_times.py",
        before=on_node_one,
        during=move_the_leader,
        check=asks_the_new_leader,
        nodes=2,
    ),
    Exhibit(
        name="confluent-kafka-possibly-stored",
        client="confluent-kafka",
        title="a batch that timed out makes the next one fatal",
        issue="https://github.com/confluentinc/librdkafka/pull/4438",
        story="The broker answers REQUEST_TIMED_OUT for a batch that it has not stored, and "
        "refuses the batch behind it, which is out of order. The producer has counted the "
        "first one as stored, and takes the second answer for a loss: it fails for good.",
        affected="2.2.0",
        fixed="2.3.0",
        program="confluent_two_batches.py",
        before=second_times_out,
        check=third_waits_for_second,
    ),
)
