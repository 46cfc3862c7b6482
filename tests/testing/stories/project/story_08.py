"""A mailer sends a mail for each order."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, TopicPartition

from ottla.testing import Ottla


async def mails(broker: Ottla, wanted: int) -> list[str]:
    """The program under test, while orders come in."""
    broker.produce("orders", ["order-1", "order-2"])
    consumer = AIOKafkaConsumer(
        "orders", bootstrap_servers=broker.bootstrap_servers, client_id="mailer", group_id="mails"
    )
    await consumer.start()
    try:
        await consumer.position(TopicPartition("orders", 0))
        broker.produce("orders", ["order-3"])
        found = [await consumer.getone()]
        while len(found) < wanted and (more := await consumer.getmany(timeout_ms=300)):
            found += [each for many in more.values() for each in many]
    finally:
        await consumer.stop()
    return [each.value.decode() for each in found]


def test_each_order_gets_a_mail(ottla_broker: Ottla) -> None:
    ottla_broker.create_topic("orders")
    assert asyncio.run(mails(ottla_broker, 3)) == ["order-1", "order-2", "order-3"]
