"""A client outside of the containers, and one in another container."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from .engine import IMAGE, Failed, call

TIMEOUT_S = 20.0
RECORDS = 150
INSIDE = """
servers=$0 topic=$1 value=$2
ottla topics create "$topic" -b "$servers"
ottla produce "$topic" "$value" -b "$servers"
echo "read $(ottla consume "$topic" --values -b "$servers")"
"""


def use_from_outside(bootstrap_servers: str) -> AdminClient:
    """Create a topic, write to it in a transaction, and read it in a group.

    Raises:
        Failed: another record than the one that was written comes back, or none.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    topic, value = f"outside-{uuid4()}", str(uuid4()).encode()
    admin.create_topics([NewTopic(topic, 1)], operation_timeout=TIMEOUT_S)[topic].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, value)
    producer.commit_transaction(TIMEOUT_S)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    try:
        message = consumer.poll(TIMEOUT_S)
    finally:
        consumer.close()
    if message is None or message.error() is not None or message.value() != value:
        raise Failed(f"a client outside at {bootstrap_servers} reads {message}")
    return admin


def lose_nothing(
    servers: str, topic: str, stop: Callable[[], None], start: Callable[[], None]
) -> None:
    """Write and read in a group while a broker stops and returns.

    Args:
        servers: bootstrap servers.
        topic: a new one, with three partitions and three replicas.
        stop, start: called after a third of the records each.

    Raises:
        Failed: a record is lost, or comes twice.
    """
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 3, 3)], operation_timeout=TIMEOUT_S)[topic].result()
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0})
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    seen: list[bytes | None] = []

    def read(timeout_s: float) -> bool:
        message = consumer.poll(timeout_s)
        if message is None or message.error() is not None:
            return False
        seen.append(message.value())
        return True

    try:
        for number in range(RECORDS):
            if number == RECORDS // 3:
                stop()
            if number == 2 * RECORDS // 3:
                start()
            producer.produce(topic, str(number), partition=number % 3)
            producer.poll(0)
            read(0.01)
        if left := producer.flush(TIMEOUT_S):
            raise Failed(f"{left} records are not acknowledged")
        while len(set(seen)) < RECORDS and read(TIMEOUT_S):
            pass
    finally:
        consumer.close()
    if sorted(seen, key=str) != sorted((str(each).encode() for each in range(RECORDS)), key=str):
        raise Failed(f"{RECORDS} records were written, and these read: {seen}")


def use_from_inside(bootstrap_servers: str, options: list[str]) -> None:
    """Write and read a record from another container.

    Args:
        bootstrap_servers: as containers know the broker.
        options: of the container, its network among them.

    Raises:
        Failed: the record does not come back.
    """
    value = str(uuid4())
    words = ["run", "--rm", *options, IMAGE, "sh", "-c", INSIDE]
    said = call(*words, bootstrap_servers, f"inside-{value}", value)
    if f"read {value}" not in said:
        raise Failed(f"a client in a container at {bootstrap_servers} says:\n{said}")
