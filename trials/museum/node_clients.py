"""Exhibits of clients for Node."""

from __future__ import annotations

from typing import Final

from ...trace.exchanges import Exchange
from .exhibit import Exhibit, Verdict, bug, no_bug
from .replay_trial import TOPIC, ReplayTrial
from .seen import Seen


def sequences(seen: Seen) -> list[tuple[int, Exchange]]:
    """The first sequence number of each batch that was sent, with its request."""
    return [
        (batch["base_sequence"], each)
        for each in seen.requests("Produce")
        for batch in each.fields.get("batches", ())
    ]


def slow_answer(trial: ReplayTrial) -> None:
    """The first answer comes late, so that the sends after it are on their way before."""
    match = {"api": "Produce", "nth": 1}
    trial.broker.faults.add("delay", ms=300, point="after", match=match)


def sequences_go_on(seen: Seen) -> Verdict | None:
    """Whether each batch has sequence numbers of its own."""
    found = sequences(seen)
    numbers = [number for number, _ in found]
    requests = [each for _, each in found]
    lost = 3 - len(seen.records.get(0, ()))
    if len(numbers) == 3 and len(set(numbers)) < 3 and lost:
        text = f"batches of different records have the sequence numbers {numbers}: {lost} are lost"
        return bug(text, *requests)
    if sorted(numbers) == [0, 1, 2] and not lost:
        return no_bug("each batch has the next sequence number, and all are stored", *requests)
    return None


def ended_nothing(seen: Seen) -> Verdict | None:
    """Whether the end of an empty transaction was refused."""
    ends = seen.requests("EndTxn")
    if ends and "INVALID_TXN_STATE" in seen.said("failed"):
        return bug("EndTxn goes to a coordinator that knows of no transaction, and fails", *ends)
    if seen.said("committed") == [""] and not ends:
        return no_bug("nothing is to be ended, and nothing is sent")
    return None


def forbid_a_topic(trial: ReplayTrial) -> None:
    """The broker tells this client nothing of one topic."""
    match = {"api": "Metadata", "topic": "forbidden"}
    trial.broker.faults.add("error", code="TOPIC_AUTHORIZATION_FAILED", match=match)


def sends_to_another_topic(seen: Seen) -> Verdict | None:
    """Whether the allowed topic gets its record."""
    asked = seen.requests("Metadata")
    failed = {each.split()[0]: each for each in seen.said("failed")}
    if set(failed) == {"forbidden", TOPIC}:
        return bug("the producer goes on to ask for the forbidden topic, and fails", *asked[-1:])
    if set(failed) == {"forbidden"} and seen.said("sent") == [TOPIC]:
        return no_bug("the forbidden topic is forgotten, the other gets its record", *asked[-1:])
    return None


def four_records_in_each(trial: ReplayTrial) -> None:
    """Offsets 0 to 3 in both partitions."""
    for partition in (0, 1):
        for value in ("a", "b", "c", "last"):
            trial.broker.produce(TOPIC, [{"value": value, "partition": partition}])


def both_seeks_count(seen: Seen) -> Verdict | None:
    """Whether reading begins at offset 2 in both partitions."""
    read = [tuple(map(int, each.split())) for each in seen.said("read")]
    first = {partition: offset for partition, offset in reversed(read)}
    fetches = seen.requests("Fetch")[:2]
    if sorted(first.values()) == [0, 2]:
        (lost,) = (partition for partition, offset in first.items() if offset == 0)
        return bug(f"the seek in partition {lost} is forgotten: it is read from 0", *fetches)
    if sorted(first.values()) == [2, 2]:
        return no_bug("both partitions are read from offset 2", *fetches)
    return None


def is_a_tombstone(seen: Seen) -> Verdict | None:
    """Whether the record has no value."""
    sent = seen.requests("Produce")
    if seen.said("sent") and seen.nulls == 0 and seen.records == {0: [""]}:
        return bug("the record has an empty value: compaction keeps the key for ever", *sent)
    if seen.said("sent") and seen.nulls == 1:
        return no_bug("the record has no value, and compaction removes the key", *sent)
    return None


def two_records(trial: ReplayTrial) -> None:
    """Offsets 0 and 1."""
    trial.broker.produce(TOPIC, ["a", "b"])


def commits_the_next_offset(seen: Seen) -> Verdict | None:
    """Which offset the group has after its first record."""
    commits = seen.requests("OffsetCommit")
    if seen.said("read")[:1] == ["0"] and seen.offsets == {0: 0}:
        return bug("after offset 0 it commits 0: any other client reads it again", *commits)
    if seen.said("read")[:1] == ["0"] and seen.offsets == {0: 1}:
        return no_bug("after offset 0 it commits 1, the next one", *commits)
    return None


EXHIBITS: Final = (
    Exhibit(
        name="kafkajs-concurrent-sends",
        client="kafkajs",
        title="concurrent sends of an idempotent producer have the same sequence number",
        issue="https://github.com/tulios/kafkajs/issues/598",
        story="A program does not wait for one send before the next. Sequence numbers are "
        "counted up only when an answer comes, so both batches have the same one: the "
        "broker takes the second for a repetition of the first, and stores nothing.",
        affected="1.16.0",
        fixed="2.0.0",
        program="kafkajs_concurrent_sends.js",
        before=slow_answer,
        check=sequences_go_on,
    ),
    Exhibit(
        name="kafkajs-empty-transaction",
        client="kafkajs",
        title="the commit of an empty transaction fails",
        issue="https://github.com/tulios/kafkajs/pull/1388",
        story="A transaction ends before a record was sent. The coordinator has heard of none, "
        "and refuses EndTxn with INVALID_TXN_STATE, which the program gets.",
        affected="2.0.2",
        fixed="2.1.0",
        program="kafkajs_empty_transaction.js",
        check=ended_nothing,
    ),
    Exhibit(
        name="kafkajs-forbidden-topic",
        client="kafkajs",
        title="one forbidden topic spoils a producer for all topics",
        issue="https://github.com/tulios/kafkajs/pull/1385",
        story="A program sends to a topic that it may not see, and then to one that it may. The "
        "producer asks for both topics from then on, and takes the refusal of one for a "
        "failure.",
        affected="2.0.2",
        fixed="2.1.0",
        program="kafkajs_forbidden_topic.js",
        before=forbid_a_topic,
        check=sends_to_another_topic,
    ),
    Exhibit(
        name="kafkajs-two-seeks",
        client="kafkajs",
        title="of two seeks in a topic one is forgotten",
        issue="https://github.com/tulios/kafkajs/pull/1378",
        story="A consumer seeks in two partitions before it reads. Seeks are remembered by "
        "topic, and one of the partitions is read from where it was.",
        affected="2.0.1",
        fixed="2.0.2",
        program="kafkajs_two_seeks.js",
        before=four_records_in_each,
        check=both_seeks_count,
        partitions=2,
    ),
    Exhibit(
        name="platformatic-kafka-tombstone",
        client="platformatic-kafka",
        title="a tombstone is sent as an empty value",
        issue="https://github.com/platformatic/kafka/pull/217",
        story="A record without a value tells a compacted topic to forget its key. The producer "
        "writes the length 0 instead of -1, so the record has an empty value, and the key "
        "stays.",
        affected="1.22.0",
        fixed="1.31.0",
        program="platformatic_tombstone.mjs",
        check=is_a_tombstone,
    ),
    Exhibit(
        name="platformatic-kafka-concurrent-sends",
        client="platformatic-kafka",
        title="concurrent sends of an idempotent producer have the same sequence number",
        issue="https://github.com/platformatic/kafka/issues/326",
        story="A program does not wait for one send before the next. All batches have the same "
        "sequence number: the broker takes them for repetitions of the first, and stores only "
        "that one. All three sends succeed for the program.",
        affected="2.2.3",
        fixed="2.4.0",
        program="platformatic_concurrent_sends.mjs",
        before=slow_answer,
        check=sequences_go_on,
    ),
    Exhibit(
        name="platformatic-kafka-commit",
        client="platformatic-kafka",
        title="the committed offset is that of the last record",
        issue="https://github.com/platformatic/kafka/pull/196",
        story="A group commits the next offset to read. This client commits the one that it has "
        "read, and adds 1 when it starts: it agrees with itself alone, and any other "
        "member of the group reads the record a second time.",
        affected="1.22.0",
        fixed="1.31.0",
        program="platformatic_commit.mjs",
        before=two_records,
        check=commits_the_next_offset,
    ),
)
