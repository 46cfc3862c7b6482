"""The record modules of the command line on a running broker: places, fates, errors."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.client.admin.offsets import EARLIEST, LATEST, Isolation, partition_offsets
from ottla.client.admin.topics import delete_records
from ottla.client.cluster_client import Client, ErrorAnswer, NoAnswer
from ottla.client.fates import Fate
from ottla.client.record_batch import OutgoingRecord, partition_of
from ottla.client.record_producer import OpenTransaction, Stored, produce
from ottla.client.record_reader import ReadRecord, RecordReader
from ottla.protocol.addresses import read_addresses
from ottla.protocol.batch import Compression

TIMEOUT_S = 10.0


@pytest.fixture
def topic(bootstrap: str, request: pytest.FixtureRequest) -> str:
    """A topic of this test, with two partitions."""
    name: str = request.node.name.partition("[")[0].replace("test_", "")
    name += f"-{time.monotonic_ns()}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 2)])[name].result(TIMEOUT_S)
    return name


def everything(
    client: Client, topic: str, isolation: Isolation = Isolation.READ_UNCOMMITTED
) -> list[ReadRecord]:
    """All records of partition 0."""
    ends = partition_offsets(client, topic, {0: LATEST}, isolation=isolation)
    return list(RecordReader(client, topic, {0: 0}, isolation=isolation).read_to(ends))


def values(*texts: str) -> list[OutgoingRecord]:
    return [OutgoingRecord(text.encode(), partition=0) for text in texts]


@pytest.mark.parametrize("compression", Compression)
def test_a_record_comes_back_as_it_was_produced(
    client: Client, topic: str, compression: Compression
) -> None:
    sent = OutgoingRecord(b"v" * 500, b"k", (("trace", b"7"), ("none", None)), 1, 1_700_000_000_000)
    dead = OutgoingRecord(None, b"k", (), 1)
    assert produce(client, topic, [sent, dead], compression=compression) == [
        Stored(topic, 1, 0),
        Stored(topic, 1, 1),
    ]
    first, second = RecordReader(client, topic, {1: 0}).read([1])
    assert first[3:7] == (sent.timestamp_ms, sent.key, sent.value, sent.headers)
    assert (first.fate, second.value) == (Fate.PLAIN, None)


def test_a_stock_client_reads_the_produced_records(
    client: Client, bootstrap: str, topic: str
) -> None:
    produce(client, topic, [OutgoingRecord(b"v", b"k", (("h", b"1"),), 0, 5)])
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(TIMEOUT_S)
    consumer.close()
    assert message is not None
    assert (message.key(), message.value(), message.headers()) == (b"k", b"v", [("h", b"1")])
    assert message.timestamp()[1] == 5


def test_keys_go_to_the_partition_of_javas_producer() -> None:
    """The hashes of Kafka's UtilsTest.testMurmur2, modulo 1,000 after toPositive."""
    for key, code in {b"21": -973932308, b"foobar": -790332482, b"abc": 479470107}.items():
        assert partition_of(key, 1000) == (code & 0x7FFFFFFF) % 1000


def test_the_fate_of_each_record_is_known(client: Client, topic: str) -> None:
    """An open transaction begins first, so that decided ones lie behind the last stable offset."""
    produce(client, topic, values("plain"))
    before = OpenTransaction.begin(client, f"{topic}-before")
    before.produce(topic, values("below the last stable offset"))
    before.end(commit=False)
    still = OpenTransaction.begin(client, f"{topic}-open")
    still.produce(topic, values("open"))
    for commit in (True, False, True):
        ended = OpenTransaction.begin(client, f"{topic}-{commit}")
        ended.produce(topic, values(f"{commit} 1"))
        ended.produce(topic, values(f"{commit} 2"))
        ended.end(commit=commit)
    found = [(each.value, each.fate) for each in everything(client, topic)]
    assert found == [
        (b"plain", Fate.PLAIN),
        (b"below the last stable offset", Fate.ABORTED),
        (b"open", Fate.OPEN),
        (b"True 1", Fate.COMMITTED),
        (b"True 2", Fate.COMMITTED),
        (b"False 1", Fate.ABORTED),
        (b"False 2", Fate.ABORTED),
        (b"True 1", Fate.COMMITTED),
        (b"True 2", Fate.COMMITTED),
    ]
    committed = Isolation.READ_COMMITTED
    assert [each.value for each in everything(client, topic, committed)] == [b"plain"]
    still.end(commit=True)
    fates = [each.fate for each in everything(client, topic)]
    assert fates == [Fate.PLAIN, Fate.ABORTED, Fate.COMMITTED] + [fate for _, fate in found[3:]]
    assert len(everything(client, topic, committed)) == 6


def test_a_reader_that_begins_inside_a_transaction_knows_its_fate(
    client: Client, topic: str
) -> None:
    transaction = OpenTransaction.begin(client, topic)
    transaction.produce(topic, values("a", "b", "c"))
    transaction.end(commit=False)
    (left,) = RecordReader(client, topic, {0: 2}).read_to({0: 3})
    assert (left.value, left.fate, left.producer_id) == (
        b"c",
        Fate.ABORTED,
        transaction.producer_id,
    )


@pytest.mark.parametrize(
    ("start", "reset", "read"),
    [
        (1, None, [b"c", b"d"]),  # the records before were deleted
        (1, EARLIEST, [b"c", b"d"]),
        (1, LATEST, [b"d"]),
        (9, EARLIEST, [b"c", b"d"]),
        (9, LATEST, [b"d"]),
    ],
)
def test_a_reader_at_an_offset_that_is_not_there_goes_on_by_its_policy(
    client: Client, topic: str, start: int, reset: int | None, read: list[bytes]
) -> None:
    produce(client, topic, values("a", "b", "c"))
    delete_records(client, topic, 0, 2)
    reader = RecordReader(client, topic, {0: start}, reset=reset)
    assert reader.read(max_wait_ms=0) == []
    produce(client, topic, values("d"))
    assert [each.value for each in reader.read_to({0: 4})] == read


def test_a_reader_behind_the_end_without_a_policy_is_refused(client: Client, topic: str) -> None:
    with pytest.raises(ErrorAnswer, match="OFFSET_OUT_OF_RANGE"):
        RecordReader(client, topic, {0: 9}).read()


def test_a_topic_that_the_broker_creates_is_waited_for(client: Client) -> None:
    name = f"new-{time.monotonic_ns()}"
    assert produce(client, name, [OutgoingRecord(b"x")]) == [Stored(name, 0, 0)]


def test_offsets_by_time(client: Client, topic: str) -> None:
    records = [OutgoingRecord(b"x", partition=0, timestamp_ms=time_ms) for time_ms in (10, 20, 30)]
    produce(client, topic, records)
    assert partition_offsets(client, topic, {0: 15, 1: 15}) == {0: 1, 1: -1}
    assert partition_offsets(client, topic, {0: EARLIEST}) == {0: 0}
    assert partition_offsets(client, topic, {0: LATEST}) == {0: 3}


def test_an_unknown_topic_or_partition_is_an_error(client: Client, topic: str) -> None:
    with pytest.raises(ErrorAnswer, match=f"{topic}-7: UNKNOWN_TOPIC_OR_PARTITION"):
        produce(client, topic, [OutgoingRecord(b"x", partition=7)])
    with pytest.raises(ErrorAnswer, match="UNKNOWN_TOPIC_OR_PARTITION"):
        RecordReader(client, "not-there", {0: 0}).read()


def test_the_first_broker_that_answers_is_used(bootstrap: str) -> None:
    with Client.to(f"127.0.0.1:1, {bootstrap}") as client:
        assert client.brokers
    with pytest.raises(NoAnswer, match=r"127.0.0.1:1: Connection refused; 127.0.0.1:2: "):
        Client.to("127.0.0.1:1,127.0.0.1:2")


@pytest.mark.parametrize("wrong", ["", "nowhere", "host:", "host:0", "host:65536", "host:1,"])
def test_an_address_without_a_port_is_an_error(wrong: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT was expected"):
        read_addresses(wrong)


@pytest.mark.parametrize("transactional", [False, True])
def test_more_than_a_batch_may_have_is_sent_in_several(
    client: Client, topic: str, transactional: bool
) -> None:
    """Brokers take batches of 1 MiB; each of the records is far smaller."""
    records = [OutgoingRecord(b"v" * 1000, b"%d" % at, partition=0) for at in range(3000)]
    if transactional:
        transaction = OpenTransaction.begin(client, topic)
        stored = transaction.produce(topic, records)
        transaction.end(commit=True)
    else:
        stored = produce(client, topic, records)
    assert stored == [Stored(topic, 0, at) for at in range(3000)]
    read = everything(client, topic, Isolation.READ_COMMITTED)
    assert [each.key for each in read] == [each.key for each in records]


@pytest.mark.parametrize("transactional", [False, True])
def test_a_batch_that_its_topic_does_not_take_is_halved(
    bootstrap: str, client: Client, topic: str, transactional: bool
) -> None:
    small = f"small-{topic}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = NewTopic(small, 1, config={"max.message.bytes": "300"})
    admin.create_topics([made])[small].result(TIMEOUT_S)
    records = [OutgoingRecord(b"v" * 50, b"%d" % at) for at in range(20)]
    if transactional:
        transaction = OpenTransaction.begin(client, small)
        stored = transaction.produce(small, records)
        transaction.end(commit=True)
    else:
        stored = produce(client, small, records)
    assert stored == [Stored(small, 0, at) for at in range(20)]
    read = everything(client, small, Isolation.READ_COMMITTED)
    assert [each.key for each in read] == [each.key for each in records]
    with pytest.raises(ErrorAnswer, match="MESSAGE_TOO_LARGE"):
        produce(client, small, [OutgoingRecord(b"v" * 500)])
