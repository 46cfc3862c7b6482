"""Load generator for transactions: raw, through librdkafka and through Java, one workload per
process.

`load_transactions.py HOST:PORT WORKLOAD SECONDS` prints one JSON object as load.py does; a latency
is that of a whole transaction, from its begin to the answer to its commit. A `read_committed`
consumer counts the committed records at the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.load import Result, make_internal_topics, result
from benchmarks.raw_transactions import committing
from tests.kafka.installation import java
from tests.whole_topics import records_in
from tests.wire.broker import Broker

VALUE = b"x" * 100
TIMEOUT_S = 30.0
JAVA_TIMEOUT_S = 60.0

# Produces and sends the content of one transaction, between its begin and its commit.
Body = Callable[[Producer, int], None]


def new_topic(bootstrap: str, partitions: int) -> str:
    """A new topic for this run alone."""
    name = f"load-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": bootstrap})  # requests end with it
    for made in admin.create_topics([NewTopic(name, partitions)]).values():
        made.result(TIMEOUT_S)
    return name


def new_producer(bootstrap: str) -> Producer:
    """A transactional producer after init_transactions."""
    settings = {
        "bootstrap.servers": bootstrap,
        "transactional.id": f"load-{uuid.uuid4().hex[:12]}",
        "linger.ms": 0,
    }
    producer = Producer(settings)
    producer.init_transactions(TIMEOUT_S)
    return producer


def run_transactions(producer: Producer, body: Body, seconds: float) -> list[float]:
    """Commit one transaction after another; returns the duration of each in seconds."""
    latencies_s: list[float] = []
    started = now = time.perf_counter()
    while now - started < seconds:
        producer.begin_transaction()
        body(producer, len(latencies_s))
        producer.commit_transaction(TIMEOUT_S)
        before, now = now, time.perf_counter()
        latencies_s.append(now - before)
    return latencies_s


def committed(bootstrap: str, topic: str, partitions: int) -> int:
    """The number of records that a `read_committed` consumer gets."""
    return sum(1 for _ in records_in(bootstrap, {topic: partitions}, timeout_s=TIMEOUT_S))


def producing(topic: str, records: int, partitions: int) -> Body:
    """A transaction's content: records spread evenly over the partitions."""

    def body(producer: Producer, _: int) -> None:
        for index in range(records):
            producer.produce(topic, VALUE, partition=index % partitions)

    return body


def measured(
    bootstrap: str, seconds: float, *, producers: int = 1, records: int = 1, partitions: int = 1
) -> Result:
    """Run producers in parallel, each with its own transactional id."""
    topic = new_topic(bootstrap, partitions)
    body = producing(topic, records, partitions)
    ready = [new_producer(bootstrap) for _ in range(producers)]
    for producer in ready:  # the first transaction looks up leaders and coordinators
        run_transactions(producer, body, 0.0001)
    latencies_s: list[list[float]] = [[] for _ in ready]

    def run(index: int) -> None:
        latencies_s[index] = run_transactions(ready[index], body, seconds)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(producers)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.perf_counter() - started
    every = [latency for each in latencies_s for latency in each]
    found = committed(bootstrap, topic, partitions)
    assert found >= records * (len(every) + producers), "a committed record is missing"
    return result("transactions", len(every), took_s, every)


def sending_offsets(bootstrap: str, seconds: float) -> Result:
    """Consume, transform, produce: a record and the offset of its input in each transaction."""
    topic, source = new_topic(bootstrap, 1), new_topic(bootstrap, 1)
    group = f"load-{uuid.uuid4().hex[:12]}"
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    metadata: Any = consumer.consumer_group_metadata()

    def body(producer: Producer, number: int) -> None:
        producer.produce(topic, VALUE, partition=0)
        offset = TopicPartition(source, 0, number + 1)
        producer.send_offsets_to_transaction([offset], metadata, TIMEOUT_S)

    producer = new_producer(bootstrap)
    run_transactions(producer, body, 0.0001)
    started = time.perf_counter()
    latencies_s = run_transactions(producer, body, seconds)
    took_s = time.perf_counter() - started
    assert committed(bootstrap, topic, 1) == len(latencies_s) + 1
    (last,) = consumer.committed([TopicPartition(source, 0)], TIMEOUT_S)
    assert last.offset == len(latencies_s), "the last committed offset is missing"
    consumer.close()
    return result("transactions", len(latencies_s), took_s, latencies_s)


def raw(bootstrap: str, seconds: float, **shape: int) -> Result:
    """The same without a client library: see raw_transactions.py."""
    host, port = bootstrap.rsplit(":", 1)
    broker = Broker((host, int(port)), "load")
    try:
        make_internal_topics(broker)
        return committing(broker, seconds, **shape)
    finally:
        broker.close()


def by_java(bootstrap: str, seconds: float, *, records: int = 1, partitions: int = 1) -> Result:
    """The same through Kafka's own client, in a JVM of its own (Transactions.java)."""
    topic = new_topic(bootstrap, partitions)
    source = Path(__file__).resolve().parent / "Transactions.java"
    shape = (str(seconds), str(records), str(partitions))
    command = java("-Xmx256m", str(source), bootstrap, topic, *shape)
    done = subprocess.run(command, capture_output=True, text=True, timeout=JAVA_TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-3000:]
    latencies_s = [int(line) / 1e9 for line in done.stdout.split()]
    found = committed(bootstrap, topic, partitions)
    assert found > records * len(latencies_s), "a committed record is missing"
    return result("transactions", len(latencies_s), seconds, latencies_s)


WORKLOADS: dict[str, Callable[[str, float], Result]] = {
    "raw 1 record": lambda bootstrap, s: raw(bootstrap, s),
    "raw 100 on 10": lambda bootstrap, s: raw(bootstrap, s, records=100, partitions=10),
    "raw 8 x 1": lambda bootstrap, s: raw(bootstrap, s, producers=8),
    "raw 8 x 100 on 10": lambda bootstrap, s: raw(
        bootstrap, s, producers=8, records=100, partitions=10
    ),
    "1 record": lambda bootstrap, s: measured(bootstrap, s),
    "100 on 10": lambda bootstrap, s: measured(bootstrap, s, records=100, partitions=10),
    "8 x 1 record": lambda bootstrap, s: measured(bootstrap, s, producers=8),
    "8 x 100 on 10": lambda bootstrap, s: measured(
        bootstrap, s, producers=8, records=100, partitions=10
    ),
    "send offsets": sending_offsets,
    "java 1 record": by_java,
    "java 100 on 10": lambda bootstrap, s: by_java(bootstrap, s, records=100, partitions=10),
}


def main() -> int:
    """Run the workload of the command line."""
    bootstrap, workload, seconds = sys.argv[1:]
    print(json.dumps(asdict(WORKLOADS[workload](bootstrap, float(seconds)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
