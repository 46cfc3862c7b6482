"""Situations of transactions and topics."""

from __future__ import annotations

from ottla.why import Subject
from tests.wire.broker import Broker
from tests.wire.groups import Member

from .situations import World, situation


@situation(
    "open_transaction",
    r"A read_committed reader of \S+-0 waits at offset 0 behind the transaction of \S+, which is"
    r" open for [\d.]+ m?s; it is aborted .*in .*",
)
def reader_behind_an_open_transaction(world: World) -> Subject:
    topic = world.wire.topic()
    world.opened(topic)
    return Subject(topic)


@situation("open_transaction", r"A read_committed reader of \S+-0 waits at offset 2 behind .*")
def committed_records_before_an_open_transaction(world: World) -> Subject:
    topic = world.wire.filled_topic(2)
    world.opened(topic)
    return Subject(topic, 0)


@situation(
    "open_transaction",
    r"A read_committed reader of \S+-0 waits .*, and holds back partition \S+-1 too; .*",
)
def one_transaction_in_two_partitions(world: World) -> Subject:
    topic = world.wire.topic(2)
    producer = world.wire.init(world.wire.fresh("x"))
    producer.add_all({topic: [0, 1]})
    for partition in range(2):
        assert producer.produce(topic, partition=partition)[0] == "NONE"
    world.later(lambda: producer.end(commit=False))
    return Subject(topic)


@situation("open_transaction", r"A read_committed reader of \S+-0 waits at offset 0 behind .*")
def reader_group_behind_an_open_transaction(world: World) -> Subject:
    topic, group = world.wire.topic(), world.wire.fresh("g")
    world.wire.commit(group, topic, 0)
    world.opened(topic)
    return Subject(group=group)


@situation("open_transaction", r"A read_committed reader of \S+-0 waits at offset 0 behind the .*")
def transactional_id_with_records(world: World) -> Subject:
    topic = world.wire.topic()
    producer = world.opened(topic)
    return Subject(transactional_id=producer.transactional_id)


@situation(
    "transaction_under_way", r"The transaction of \S+ is open for [\d.]+ m?s on partition \S+-0; .*"
)
def transactional_id_without_records(world: World) -> Subject:
    topic = world.wire.topic()
    producer = world.wire.init(world.wire.fresh("x"))
    assert producer.add(topic) == "NONE"
    world.later(lambda: producer.end(commit=False))
    return Subject(transactional_id=producer.transactional_id)


@situation(
    "transaction_ended",
    r"Transactional id \S+ has no open transaction: its state is CompleteCommit.",
    is_stuck=False,
)
def transactional_id_that_has_committed(world: World) -> Subject:
    producer = world.wire.init(world.wire.fresh("x"))
    topic = world.wire.topic()
    producer.add(topic)
    producer.produce(topic)
    producer.end()
    producer.wait_ended()
    return Subject(transactional_id=producer.transactional_id)


@situation("transactional_id_unknown", r"No coordinator knows the transactional id \S+\.")
def transactional_id_that_is_unknown(world: World) -> Subject:
    world.wire.init(world.wire.fresh("x"))  # makes the topic of coordinators
    return Subject(transactional_id=world.wire.fresh("nobody"))


@situation(
    "hanging_transaction",
    r"A read_committed reader of \S+-0 waits at offset 0 for ever: producer \d+ has a transaction"
    r" there from offset 0 on, and no coordinator knows .* It is hanging: nobody will end it\.",
    on_kafka=False,
)
def hanging_transaction(world: World) -> Subject:
    topic = world.wire.fresh()
    world.ottla.given("hanging_transaction", topic=topic)
    return Subject(topic)


@situation(
    "markers_wait",
    r"The commit of \S+ is decided, and its markers are not all written: partition \S+-0 has no"
    r" leader\. .*",
    on_kafka=False,
)
def prepared_commit_without_a_leader(world: World) -> Subject:
    topic, name = world.wire.fresh(), world.wire.fresh("x")
    world.ottla.given("prepared_commit", topic=topic, transactional_id=name)
    return Subject(transactional_id=name)


@situation(
    "pending_offsets",
    r"The offsets of group \S+ for partition \S+-0 are pending in the transaction of \S+, open for"
    r" .*: a consumer that starts now waits with UNSTABLE_OFFSET_COMMIT until it ends\.",
)
def offsets_pending_in_a_transaction(world: World) -> Subject:
    topic, group = world.wire.filled_topic(), world.wire.fresh("g")
    world.wire.commit(group, topic, 1)
    producer = world.wire.init(world.wire.fresh("x"))
    assert producer.add_offsets(group) == "NONE"
    assert producer.commit_offset(group, topic, 2) == "NONE"
    world.later(lambda: producer.end(commit=False))
    return Subject(group=group)


@situation("pending_offsets", r"The offsets of group \S+ for partition \S+-0 are pending in .*")
def first_offsets_of_a_group_pending(world: World) -> Subject:
    topic, group = world.wire.filled_topic(), world.wire.fresh("g")
    producer = world.wire.init(world.wire.fresh("x"))
    assert producer.add_offsets(group) == "NONE"
    assert producer.commit_offset(group, topic, 2) == "NONE"
    world.later(lambda: producer.end(commit=False))
    Member.stable(world.wire, group, topic=topic)
    return Subject(group=group)


@situation("does_not_exist", r"\S+ does not exist, so nobody can read or write it\.")
def topic_that_does_not_exist(world: World) -> Subject:
    return Subject(world.wire.fresh("nowhere"))


@situation("does_not_exist", r"\S+-7 does not exist, so nobody can read or write it\.")
def partition_that_does_not_exist(world: World) -> Subject:
    return Subject(world.wire.topic(), 7)


@situation("never_written", r"Nobody has written a record to \S+ yet\.", is_stuck=False)
def topic_that_is_empty(world: World) -> Subject:
    return Subject(world.wire.topic(2))


@situation(
    "all_deleted", r"All records of \S+ are deleted: its log starts at its end\.", is_stuck=False
)
def topic_whose_records_are_deleted(world: World) -> Subject:
    topic = world.wire.filled_topic(3)
    delete_records(world.wire, topic, 3)
    return Subject(topic)


@situation(
    "all_aborted",
    r"A read_committed reader gets nothing from \S+: it has 3 aborted records and 1 marker, and"
    r" nothing else\.",
    is_stuck=False,
)
def topic_whose_records_are_aborted(world: World) -> Subject:
    topic = world.wire.topic()
    producer = world.opened(topic)
    producer.end(commit=False)
    producer.wait_ended()
    return Subject(topic)


@situation(
    "no_leader",
    r"Partition \S+-0 has no leader, so nobody reads or writes it: .*",
    on_kafka=False,
)
def partition_without_a_leader(world: World) -> Subject:
    topic = world.wire.fresh()
    name = world.wire.fresh("x")
    world.ottla.given("prepared_commit", topic=topic, transactional_id=name)
    return Subject(topic)


def delete_records(wire: Broker, topic: str, offset: int) -> None:
    partitions = [{"partition_index": 0, "offset": offset}]
    body = {"topics": [{"name": topic, "partitions": partitions}], "timeout_ms": 5000}
    (answer,) = wire.call("DeleteRecords", 2, body)["topics"]
    assert answer["partitions"][0]["error_code"] == 0
