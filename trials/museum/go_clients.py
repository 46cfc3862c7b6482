"""Exhibits of clients for Go."""

from __future__ import annotations

from typing import Final

from .exhibit import Exhibit, Verdict, bug, no_bug
from .replay_trial import TOPIC, ReplayTrial
from .seen import Seen

_STUCK: Final = 20  # so many requests for the same offset are no accident


def storage_error(trial: ReplayTrial) -> None:
    """The first Produce meets a disk that fails."""
    match = {"api": "Produce", "topic": TOPIC, "times": 1}
    trial.broker.faults.add("error", code="KAFKA_STORAGE_ERROR", match=match)


def sent_after_storage_error(seen: Seen) -> Verdict | None:
    """Whether the record was sent again."""
    sent = seen.requests("Produce")
    if len(sent) == 1 and seen.said("failed"):
        return bug("the first KAFKA_STORAGE_ERROR fails the send; nothing is sent again", *sent)
    if len(sent) > 1 and seen.said("sent"):
        return no_bug("the record is sent again, and stored", *sent)
    return None


def empty_batch_first(trial: ReplayTrial) -> None:
    """A batch of which compaction has left no record, and one record behind it."""
    trial.broker.given("empty_batches", topic=TOPIC, batches=1, removed=10)
    trial.broker.produce(TOPIC, ["last"])


def until_stuck(trial: ReplayTrial) -> None:
    """End the program once it asks for the same again and again."""
    counted = trial.broker.faults.add("delay", ms=0, match={"api": "Fetch", "client_id": "museum"})
    trial.wait_fired(counted, _STUCK)
    trial.end()


def got_past_empty_batch(seen: Seen) -> Verdict | None:
    """Whether the record behind the empty batch was read."""
    fetches = seen.requests("Fetch")
    if len(fetches) >= _STUCK and not seen.said("read"):
        text = f"{len(fetches)} fetches for the same offset, inside of the empty batch"
        return bug(text, *fetches[:3])
    if seen.said("read"):
        return no_bug("it goes on behind the empty batch", *fetches[:3])
    return None


def hole_at_the_end(trial: ReplayTrial) -> None:
    """A batch whose last records compaction has removed, and a record behind it."""
    trial.broker.given("compacted_hole_at_end", topic=TOPIC)
    trial.broker.produce(TOPIC, ["last"])


def got_past_the_hole(seen: Seen) -> Verdict | None:
    """Whether the record behind the hole was read."""
    fetches = seen.requests("Fetch")
    read, stored = len(seen.said("read")), len(seen.records.get(0, ()))
    if len(fetches) >= _STUCK and read < stored:
        text = f"{len(fetches)} fetches for the same offsets, in the hole"
        return bug(text, *fetches[:3])
    if read and read == stored:
        return no_bug("it goes on behind the hole", *fetches[:2])
    return None


def aborted_transactions(trial: ReplayTrial) -> None:
    """Three aborted transactions of one producer; the broker lists them in another order."""
    produce = trial.broker.produce
    for name in ("one", "two", "three"):
        produce(TOPIC, [f"aborted {name}"], transactional_id="shop", commit=False)
    produce(TOPIC, ["last"])
    match = {"api": "Fetch", "client_id": "museum"}
    trial.broker.faults.add("corrupt", what="shuffled_aborted", seed=1, match=match)


def skips_aborted(seen: Seen) -> Verdict | None:
    """Whether a read_committed consumer got aborted records."""
    read = seen.said("read")
    aborted = [each for each in read if each.startswith("aborted")]
    fetches = seen.requests("Fetch")[:1]
    if aborted:
        return bug(f"with read_committed it delivers: {', '.join(aborted)}", *fetches)
    if read == ["last"]:
        return no_bug("it delivers the committed record alone", *fetches)
    return None


def does_not_tell_the_end(trial: ReplayTrial) -> None:
    """One record to copy; EndTxn fails without a reason, and ends nothing."""
    trial.broker.produce(TOPIC, ["a"])
    trial.broker.create_topic("copy")
    match = {"api": "EndTxn"}
    trial.broker.faults.add("error", code="UNKNOWN_SERVER_ERROR", match=match)


def tells_that_it_is_unknown(seen: Seen) -> Verdict | None:
    """Whether the session says that it has committed."""
    ends = seen.requests("EndTxn")
    answers = seen.said("committed")
    if answers == ["true <nil>"] and len(ends) == 1:
        text = "End() says that it has committed, but the transaction is open: its records are lost"
        return bug(text, *ends)
    if answers and answers[0].startswith("false"):
        return no_bug("End() says that it has not committed, and the record is read again", *ends)
    return None


EXHIBITS: Final = (
    Exhibit(
        name="sarama-storage-error",
        client="sarama",
        title="KAFKA_STORAGE_ERROR is not retriable",
        issue="https://github.com/IBM/sarama/pull/2939",
        story="A disk of the leader fails, and it answers KAFKA_STORAGE_ERROR. The producer "
        "hands the error to the program instead of sending the record again.",
        affected="1.43.2",
        fixed="1.43.3",
        program="sarama_send.go",
        before=storage_error,
        check=sent_after_storage_error,
    ),
    Exhibit(
        name="sarama-empty-batch",
        client="sarama",
        title="a consumer is stuck in a batch without records",
        issue="https://github.com/IBM/sarama/pull/3221",
        story="Compaction removes all records of a producer's last batch, and keeps the batch "
        "for its sequence numbers. The consumer goes on one offset behind its beginning "
        "instead of behind its end, gets the same batch again, and so on for ever.",
        affected="1.45.2",
        fixed="1.46.0",
        program="sarama_read.go",
        before=empty_batch_first,
        during=until_stuck,
        check=got_past_empty_batch,
    ),
    Exhibit(
        name="kafka-go-compacted-end",
        client="kafka-go",
        title="a reader is stuck in a batch that ends with removed records",
        issue="https://github.com/segmentio/kafka-go/commit/999d0b3960e209dc2fc6422400cf1ec64751c6d9",
        story="Compaction removes the last records of a batch. The reader goes on behind the "
        "last record that it saw, which is still inside of the batch, gets the same batch "
        "again, and so on for ever.",
        affected="0.4.27",
        fixed="0.4.28",
        program="kafka_go_read.go",
        before=hole_at_the_end,
        during=until_stuck,
        check=got_past_the_hole,
    ),
    Exhibit(
        name="franz-go-aborted-order",
        client="franz-go",
        title="aborted records are delivered with read_committed",
        issue="https://github.com/twmb/franz-go/pull/1348",
        story="A broker may list aborted transactions in any order; Kafka happens to sort them, "
        "and others do not. The consumer takes the list as sorted, misses transactions, "
        "and delivers their records as committed ones.",
        affected="1.21.3",
        fixed="1.21.4",
        program="franz_go_read_committed.go",
        before=aborted_transactions,
        check=skips_aborted,
    ),
    Exhibit(
        name="franz-go-false-commit",
        client="franz-go",
        title="a failed commit counts as done",
        issue="https://github.com/twmb/franz-go/pull/1348",
        story="The broker answers EndTxn with UNKNOWN_SERVER_ERROR. The session asks itself a "
        "second time, finds no transaction of its own any more, and takes that for "
        "success: the program goes on behind records whose copies never appear.",
        affected="1.21.3",
        fixed="1.21.4",
        program="franz_go_false_commit.go",
        before=does_not_tell_the_end,
        check=tells_that_it_is_unknown,
    ),
)
