"""aiokafka."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

pytestmark = pytest.mark.clients

LIMIT_S = 15.0


async def consumed(bootstrap: str, topic: str, group: str, count: int) -> list[str]:
    """The first `count` committed values that a member of the group reads."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    await consumer.start()
    try:
        async with asyncio.timeout(LIMIT_S):
            values = [(await consumer.getone()).value.decode() for _ in range(count)]
        await consumer.commit()
        return sorted(values)
    finally:
        await consumer.stop()


async def test_produced_records_are_consumed_by_a_group(
    bootstrap: str, topic: str, name: str
) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True) as producer:
        sent = [await producer.send(topic, b"%02d" % i, partition=i % 2) for i in range(20)]
        placed = await asyncio.gather(*sent)
    assert {record.offset for record in placed} == set(range(10))
    assert await consumed(bootstrap, topic, name, 20) == [f"{i:02}" for i in range(20)]


async def test_commits_aborts_and_offsets_of_a_transaction(
    bootstrap: str, topic: str, name: str
) -> None:
    partition = TopicPartition(topic, 0)
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name) as producer:
        for value, offset, commit in ((b"a", 3, True), (b"b", 9, False), (b"c", 4, True)):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, value, partition=0)
            await producer.send_offsets_to_transaction({partition: offset}, f"{name}-o")
            await (producer.commit_transaction() if commit else producer.abort_transaction())
    assert await consumed(bootstrap, topic, name, 2) == ["a", "c"]
    reader = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=f"{name}-o")
    await reader.start()
    try:
        assert await reader.committed(partition) == 4
    finally:
        await reader.stop()
