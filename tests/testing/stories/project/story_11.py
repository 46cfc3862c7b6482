"""A collector goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from ottla.testing import Ottla


class Collector:
    """The program under test."""

    def __init__(self, servers: str, **settings: str) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": servers, "log_level": 0,
                "client.id": "collector", "group.id": "collectors",
                "enable.auto.commit": False, "enable.partition.eof": True,
            } | {name.replace("_", "."): value for name, value in settings.items()}
        )  # fmt: skip
        self.consumer.subscribe(["orders"])

    def orders(self) -> Iterator[str]:
        """The orders until the topic's end; each is committed before the next one."""
        while (message := self.consumer.poll(20)) is not None:
            if (error := message.error()) is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return
            yield (message.value() or b"").decode()
            self.consumer.commit(message=message, asynchronous=False)


def clean_up(servers: str) -> None:
    """What the night does."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0, "client.id": "night"})
    for done in admin.delete_records([TopicPartition("orders", 0, 4)]).values():
        done.result(20)


def test_the_collector_has_all_orders_that_are_there(ottla_broker: Ottla) -> None:
    servers = ottla_broker.bootstrap_servers
    ottla_broker.produce("orders", [f"order-{number}" for number in range(6)])
    first = Collector(servers, auto_offset_reset="earliest")
    orders = first.orders()
    assert [next(orders), next(orders), next(orders)][-1] == "order-2"
    first.consumer.close()
    clean_up(servers)
    second = Collector(servers)
    found = list(second.orders())
    ottla_broker.produce("orders", ["order-6"])
    found += second.orders()
    second.consumer.close()
    assert found[0] == "order-4"
