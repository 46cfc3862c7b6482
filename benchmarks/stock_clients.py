"""Load by stock clients, one measure per process: librdkafka and Kafka's Java tools.

`stock_clients.py HOST:PORT PROCESS_ID MEASURE SECONDS [TLS_HOST:PORT CA_FILE]` prints one JSON
object, a `Sample`. Only the measured interval counts for CPU: topics are made and filled before it.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.group_members import ClassicMember, Groups
from benchmarks.load import make_internal_topics
from benchmarks.load_transactions import (
    Body,
    new_producer,
    new_topic,
    producing,
    run_transactions,
)
from benchmarks.processor import Usage, used
from tests.kafka.installation import java, tool_class
from tests.wire.broker import Broker
from tests.wire.client import encode

TIMEOUT_S = 60.0
JAVA_TIMEOUT_S = 240.0
LARGE_BATCH_BYTES = 1_000_000
MOST_PRODUCED_BYTES = 512 << 20
FILLED_BYTES = 256 << 20
MESSAGES_PER_S = 500
IDLE_CONNECTIONS = 500
GROUP_MEMBERS = 50
MANY = 1000


@dataclass(frozen=True, slots=True)
class Target:
    """The broker under load, and how long a load lasts.

    Attributes:
        bootstrap: HOST:PORT of the listener without TLS.
        tls: HOST:PORT of the listener by which the load goes, and the file of the CA that its
            clients trust; None: the load goes by `bootstrap`.
    """

    bootstrap: str
    process_id: int
    seconds: float
    tls: tuple[str, str] | None = None

    def librdkafka(self) -> dict[str, str | int | bool]:
        """The settings of librdkafka with which the load connects."""
        if self.tls is None:
            return {"bootstrap.servers": self.bootstrap}
        address, authority = self.tls
        secured = {"security.protocol": "ssl", "ssl.ca.location": authority}
        return {"bootstrap.servers": address, **secured}

    def java(self) -> dict[str, str]:
        """The properties of Java's clients."""
        if self.tls is None:
            return {"bootstrap.servers": self.bootstrap}
        address, authority = self.tls
        store = {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
        return {"bootstrap.servers": address, "security.protocol": "SSL", **store}


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of one measure; `per_s` and `count` are in `unit`, CPU in µs per unit.

    Latencies are 0 if the measure has none. `broker_us` is all CPU of the broker, `user_us` its
    part in user mode.
    """

    unit: str
    count: int
    per_s: float
    p50_ms: float
    p99_ms: float
    broker_us: float
    user_us: float
    client_us: float
    broker_peak_mb: float
    others_share: float


def sample(
    unit: str,
    count: int,
    usage: Usage,
    *,
    per_s: float | None = None,
    latencies_s: list[float] | None = None,
) -> Sample:
    """Summarize a run; the rate is by wall time, unless the client reports its own."""
    ordered = sorted(latencies_s or [0.0])
    return Sample(
        unit=unit,
        count=count,
        per_s=count / usage.wall_s if per_s is None else per_s,
        p50_ms=ordered[len(ordered) // 2] * 1000,
        p99_ms=ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] * 1000,
        broker_us=usage.broker_s * 1e6 / max(1, count),
        user_us=usage.broker_user_s * 1e6 / max(1, count),
        client_us=usage.client_s * 1e6 / max(1, count),
        broker_peak_mb=usage.broker_peak_mb,
        others_share=usage.others_share,
    )


def delete_topics(target: Target, *topics: str) -> None:
    """Delete what a measure made, so that the next begins with an empty disk cache."""
    admin = AdminClient({"bootstrap.servers": target.bootstrap})
    for deleted in admin.delete_topics(list(topics)).values():
        deleted.result(TIMEOUT_S)


# -- Produce


def _large_batches(target: Target) -> Producer:
    settings = {
        **target.librdkafka(),
        "acks": "all",
        "batch.size": LARGE_BATCH_BYTES,
        "linger.ms": 20,
        "queue.buffering.max.messages": 400_000,
        "queue.buffering.max.kbytes": 128 << 10,
    }
    return Producer(settings)


def _send(producer: Producer, topic: str, value: bytes, seconds: float, most: int) -> int:
    """Produce until the time or the count is over, and flush; returns the number of records."""
    count, ends = 0, time.perf_counter() + seconds
    while count < most and time.perf_counter() < ends:
        for _ in range(500):
            try:
                producer.produce(topic, value, partition=0)
                count += 1
            except BufferError:
                producer.poll(0.005)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0, "not all records were acknowledged"
    return count


def librdkafka_produce(target: Target, size: int) -> Sample:
    """Records in batches of 1 MB, acks=all."""
    topic = new_topic(target.bootstrap, 1)
    producer = _large_batches(target)
    value = b"x" * size
    _send(producer, topic, value, 0.2, 20_000)  # looks up the leader and opens connections
    with used(target.process_id) as usage:
        count = _send(producer, topic, value, target.seconds, MOST_PRODUCED_BYTES // size)
    delete_topics(target, topic)
    return sample("records", count, usage)


def java_produce(target: Target, size: int) -> Sample:
    """ProducerPerformance with the producer's defaults; the rate that the tool prints."""
    topic = new_topic(target.bootstrap, 1)
    count = int(150_000 * target.seconds) if size < 500 else int(60_000 * target.seconds)
    arguments = ["--topic", topic, "--num-records", str(count), "--record-size", str(size)]
    arguments += ["--throughput", "-1", "--producer-props"]
    arguments += [f"{name}={value}" for name, value in target.java().items()]
    with used(target.process_id) as usage:
        printed = _java_tool("ProducerPerformance", *arguments)
    delete_topics(target, topic)
    last = printed.strip().splitlines()[-1]
    found = re.search(rf"^{count} records sent, ([0-9.,]+) records/sec", last)
    assert found, printed[-2000:]
    return sample("records", count, usage, per_s=float(found[1].replace(",", ".")))


# -- Fetch


def _fill(target: Target, topic: str, size: int) -> int:
    return _send(_large_batches(target), topic, b"x" * size, TIMEOUT_S, FILLED_BYTES // size)


def librdkafka_fetch(target: Target, size: int) -> Sample:
    """Read a log of 256 MB from its beginning, again until the time is over."""
    topic = new_topic(target.bootstrap, 1)
    filled = _fill(target, topic, size)
    settings = {
        **target.librdkafka(),
        "group.id": f"load-{uuid.uuid4().hex[:12]}",
        "enable.auto.commit": False,
        "queued.min.messages": 1_000_000,
        # The queue holds the whole log. When it is full, librdkafka waits fetch.queue.backoff.ms
        # (1 s) before the next Fetch, which costs a broker more the faster it fills the queue.
        "queued.max.messages.kbytes": 1 << 20,
    }
    count = 0
    with used(target.process_id) as usage:
        ends = time.perf_counter() + target.seconds
        while time.perf_counter() < ends:
            consumer = Consumer(settings)
            consumer.assign([TopicPartition(topic, 0, 0)])
            left = filled
            while left > 0:
                records = consumer.consume(min(left, 10_000), 5.0)
                assert records, "no record within five seconds"
                left -= len(records)
            consumer.close()
            count += filled
    delete_topics(target, topic)
    return sample("records", count, usage)


def java_fetch(target: Target, size: int) -> Sample:
    """ConsumerPerformance over a log of 256 MB; records per second of its fetch time."""
    topic = new_topic(target.bootstrap, 1)
    filled = _fill(target, topic, size)
    properties = target.java()
    arguments = ["--bootstrap-server", properties["bootstrap.servers"], "--topic", topic]
    arguments += ["--messages", str(filled), "--hide-header", "--timeout", "30000"]
    with NamedTemporaryFile("w", suffix=".properties") as file:
        file.writelines(f"{name}={value}\n" for name, value in properties.items())
        file.flush()
        with used(target.process_id) as usage:
            printed = _java_tool("ConsumerPerformance", *arguments, "--consumer.config", file.name)
    delete_topics(target, topic)
    fields = [field.strip() for field in printed.strip().splitlines()[-1].split(",")]
    count = int(fields[4])
    assert count >= filled, printed[-2000:]
    return sample("records", count, usage, per_s=float(fields[9]))


def _java_tool(name: str, *arguments: str) -> str:
    command = java("-Xmx512m", tool_class(name), *arguments)
    done = subprocess.run(command, capture_output=True, text=True, timeout=JAVA_TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-1000:]
    return done.stdout


# -- Transactions


def transactions(
    target: Target, *, producers: int = 1, records: int = 1, partitions: int = 1
) -> Sample:
    """Transactions by librdkafka, one after another in each producer."""
    topic = new_topic(target.bootstrap, partitions)
    body = producing(topic, records, partitions)
    return _transactions(target, [body] * producers, [topic])


def transactions_with_offsets(target: Target) -> Sample:
    """A record and the offset of its input in each transaction."""
    topic, source = new_topic(target.bootstrap, 1), new_topic(target.bootstrap, 1)
    group = f"load-{uuid.uuid4().hex[:12]}"
    consumer = Consumer({"bootstrap.servers": target.bootstrap, "group.id": group})
    metadata = consumer.consumer_group_metadata()

    def body(producer: Producer, number: int) -> None:
        producer.produce(topic, b"x" * 100, partition=0)
        offset = TopicPartition(source, 0, number + 1)
        producer.send_offsets_to_transaction([offset], metadata, TIMEOUT_S)

    done = _transactions(target, [body], [topic, source])
    consumer.close()
    return done


def _transactions(target: Target, bodies: list[Body], topics: list[str]) -> Sample:
    ready = [new_producer(target.bootstrap) for _ in bodies]
    for producer, body in zip(ready, bodies, strict=True):  # looks up leaders and coordinators
        run_transactions(producer, body, 0.2)
    latencies_s: list[list[float]] = [[] for _ in ready]

    def run(index: int) -> None:
        latencies_s[index] = run_transactions(ready[index], bodies[index], target.seconds)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(ready))]
    with used(target.process_id) as usage:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    delete_topics(target, *topics)
    every = [latency for each in latencies_s for latency in each]
    return sample("transactions", len(every), usage, latencies_s=every)


# -- End to end


def end_to_end(target: Target) -> Sample:
    """500 messages a second from a producer to a consumer: the time from produce to poll."""
    topic = new_topic(target.bootstrap, 1)
    settings = {"bootstrap.servers": target.bootstrap, "group.id": uuid.uuid4().hex}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = Producer({"bootstrap.servers": target.bootstrap, "linger.ms": 0, "acks": "all"})
    _send_at_rate(producer, topic, MESSAGES_PER_S)  # a second to warm up
    _receive(consumer, MESSAGES_PER_S)
    count = int(MESSAGES_PER_S * target.seconds)
    sender = threading.Thread(target=_send_at_rate, args=(producer, topic, count))
    with used(target.process_id) as usage:
        sender.start()
        latencies_s = _receive(consumer, count)
        sender.join()
    consumer.close()
    delete_topics(target, topic)
    return sample("messages", count, usage, latencies_s=latencies_s)


def _send_at_rate(producer: Producer, topic: str, count: int) -> None:
    started = time.perf_counter()
    for number in range(count):
        wait_s = started + number / MESSAGES_PER_S - time.perf_counter()
        if wait_s > 0:
            time.sleep(wait_s)
        producer.produce(topic, b"%d" % time.perf_counter_ns(), partition=0)
        producer.poll(0)
    producer.flush(TIMEOUT_S)


def _receive(consumer: Consumer, count: int) -> list[float]:
    latencies_s: list[float] = []
    while len(latencies_s) < count:
        message = consumer.poll(10.0)
        assert message is not None, "no message within ten seconds"
        sent_ns = int(message.value() or b"0")
        latencies_s.append((time.perf_counter_ns() - sent_ns) / 1e9)
    return latencies_s


def end_to_end_in_a_crowd(target: Target) -> Sample:
    """The same beside 500 idle connections and a group of 50 members that send heartbeats."""
    host, port = target.bootstrap.rsplit(":", 1)
    address = (host, int(port))
    broker = Broker(address, "crowd")
    make_internal_topics(broker)
    topic = broker.topic(GROUP_MEMBERS)
    idle = [socket.create_connection(address) for _ in range(IDLE_CONNECTIONS)]
    hello = encode("ApiVersions", 0, {}, correlation_id=1)
    for connection in idle:
        connection.sendall(hello)
        connection.recv(65_536)
    group = broker.fresh("g")
    crowd = Groups([[ClassicMember(address, group, topic) for _ in range(GROUP_MEMBERS)]])
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(crowd.form(), loop).result(TIMEOUT_S)
    measured = end_to_end(target)
    asyncio.run_coroutine_threadsafe(crowd.end(), loop).result(TIMEOUT_S)
    loop.call_soon_threadsafe(loop.stop)
    for connection in idle:
        connection.close()
    broker.close()
    assert not crowd.lost, crowd.lost[:3]
    return measured


# -- Topics


def create_partitions(target: Target) -> Sample:
    """One topic of 1,000 partitions, until a client sees a leader of each."""
    admin = AdminClient({"bootstrap.servers": target.bootstrap})
    name = f"load-{uuid.uuid4().hex[:12]}"
    with used(target.process_id) as usage:
        _created(admin, [NewTopic(name, MANY)])
        _wait(lambda: _partitions_with_leader(admin, name) == MANY)
    delete_topics(target, name)
    return sample("partitions", MANY, usage)


def create_topics(target: Target) -> Sample:
    """1,000 topics of one partition in one request, until a client sees them all."""
    return _many_topics(target)[0]


def remove_topics(target: Target) -> Sample:
    """Delete 1,000 topics in one request, until a client sees none of them."""
    return _many_topics(target)[1]


def _many_topics(target: Target) -> tuple[Sample, Sample]:
    admin = AdminClient({"bootstrap.servers": target.bootstrap})
    prefix = f"load-{uuid.uuid4().hex[:12]}"
    names = [f"{prefix}-{index}" for index in range(MANY)]
    with used(target.process_id) as making:
        _created(admin, [NewTopic(name, 1) for name in names])
        _wait(lambda: _topics_with(admin, prefix) == MANY)
    with used(target.process_id) as removing:
        for deleted in admin.delete_topics(names, operation_timeout=TIMEOUT_S).values():
            deleted.result(TIMEOUT_S)
        _wait(lambda: _topics_with(admin, prefix) == 0)
    return sample("topics", MANY, making), sample("topics", MANY, removing)


def _created(admin: AdminClient, topics: list[NewTopic]) -> None:
    for made in admin.create_topics(topics, request_timeout=TIMEOUT_S).values():
        made.result(TIMEOUT_S)


def _partitions_with_leader(admin: AdminClient, topic: str) -> int:
    partitions = admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions.values()
    return sum(partition.leader >= 0 for partition in partitions)


def _topics_with(admin: AdminClient, prefix: str) -> int:
    return sum(name.startswith(prefix) for name in admin.list_topics(timeout=TIMEOUT_S).topics)


def _wait(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_done():
        assert time.monotonic() < deadline, "not visible in time"


BY_TLS = " by TLS"
"""The end of the names of measures whose load goes by TLS."""

MEASURES: dict[str, Callable[[Target], Sample]] = {
    "librdkafka produce 100 B": lambda target: librdkafka_produce(target, 100),
    "librdkafka produce 1 KB": lambda target: librdkafka_produce(target, 1000),
    "librdkafka produce 10 KB": lambda target: librdkafka_produce(target, 10_000),
    "java produce 100 B": lambda target: java_produce(target, 100),
    "java produce 1 KB": lambda target: java_produce(target, 1000),
    "librdkafka fetch 1 KB": lambda target: librdkafka_fetch(target, 1000),
    "java fetch 1 KB": lambda target: java_fetch(target, 1000),
    "librdkafka produce 1 KB by TLS": lambda target: librdkafka_produce(target, 1000),
    "java produce 1 KB by TLS": lambda target: java_produce(target, 1000),
    "librdkafka fetch 1 KB by TLS": lambda target: librdkafka_fetch(target, 1000),
    "java fetch 1 KB by TLS": lambda target: java_fetch(target, 1000),
    "transactions of 1": transactions,
    "8 producers of 1": lambda target: transactions(target, producers=8),
    "100 records on 10": lambda target: transactions(target, records=100, partitions=10),
    "with offsets": transactions_with_offsets,
    "end to end": end_to_end,
    "end to end in a crowd": end_to_end_in_a_crowd,
    "create 1 x 1000": create_partitions,
    "create 1000 x 1": create_topics,
    "delete 1000 topics": remove_topics,
}


def main() -> int:
    """Run one measure, as the command line says."""
    bootstrap, process_id, measure, seconds, *tls = sys.argv[1:]
    target = Target(bootstrap, int(process_id), float(seconds))
    if measure.endswith(BY_TLS):
        target = replace(target, tls=(tls[0], tls[1]))
    print(json.dumps(asdict(MEASURES[measure](target))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
