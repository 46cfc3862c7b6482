"""aiokafka on a cluster in bad faults."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from ottla.testing import RunningBroker

from .conftest import PARTITIONS, PATIENCE_S, Faults, committed

pytestmark = [pytest.mark.clients, pytest.mark.slow]


async def test_an_idempotent_producer_writes_all_in_order_and_once(
    cluster: RunningBroker, faults: Faults
) -> None:
    count = 1800
    async with AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap, enable_idempotence=True, retry_backoff_ms=50
    ) as producer:
        sent = []
        for number in range(count):
            value = str(number).encode()
            sent.append(await producer.send("in", value, partition=number % PARTITIONS))
            if number % 300 == 150:
                await asyncio.to_thread(faults.turn, "in")
        await asyncio.wait_for(asyncio.gather(*sent), 2 * PATIENCE_S)
    assert faults.count == 6
    await asyncio.to_thread(faults.clear_up)
    assert await asyncio.to_thread(committed, cluster.bootstrap, "in") == [
        [str(number) for number in range(partition, count, PARTITIONS)]
        for partition in range(PARTITIONS)
    ]


async def test_transactions_are_all_or_nothing(cluster: RunningBroker, faults: Faults) -> None:
    expected = []
    async with AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap, transactional_id="shop", retry_backoff_ms=50
    ) as producer:
        for number in range(60):
            values = [f"{number}-{index}" for index in range(PARTITIONS)]
            await producer.begin_transaction()
            for index, value in enumerate(values):
                await producer.send("in", value.encode(), partition=index)
            if number % 10 == 4:
                await asyncio.to_thread(faults.turn, "in")
            if number % 5 == 3:
                await producer.abort_transaction()
            else:
                await producer.commit_transaction()
                expected += values
    await asyncio.to_thread(faults.clear_up)
    found = await asyncio.to_thread(committed, cluster.bootstrap, "in")
    assert sorted(value for part in found for value in part) == sorted(expected)


async def test_a_group_continues_from_its_committed_offset_when_its_coordinator_moves(
    cluster: RunningBroker, faults: Faults
) -> None:
    count = 600
    async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap) as producer:
        for number in range(count):
            await producer.send("in", str(number).encode(), partition=number % PARTITIONS)
    read: list[str] = []
    async with AIOKafkaConsumer(
        "in",
        bootstrap_servers=cluster.bootstrap,
        group_id="readers",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        retry_backoff_ms=50,
    ) as consumer:
        turns = 0
        while len(read) < count:
            batches = await asyncio.wait_for(
                consumer.getmany(timeout_ms=1000, max_records=40), PATIENCE_S
            )
            for records in batches.values():
                read += [(record.value or b"").decode() for record in records]
            await asyncio.wait_for(consumer.commit(), PATIENCE_S)
            turns += 1
            if turns % 3 == 2:
                await asyncio.to_thread(faults.turn, "in")
        assert sorted(read) == sorted(str(number) for number in range(count))
        ends = [
            await consumer.committed(TopicPartition("in", index)) for index in range(PARTITIONS)
        ]
    assert ends == [count // PARTITIONS] * PARTITIONS
    assert faults.count >= 3
