"""Produce requests of all sizes on several connections at a time: no byte gets into another one."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from ottla.broker.net.sockets import NodeSockets
from ottla.broker.node import Node
from ottla.client.async_connection import read_frame
from ottla.protocol.api_keys import ApiKey
from tests.broker.fakes import START_MS, framed
from tests.broker.net.listening_node import listening_node
from tests.wire import batches

RECORDS_BYTES = [100, 15_000, 17_000, 33_000, 70_000, 300_000, 1_040_000, 2_500_000]
CLIENTS = 4
REQUESTS = 6
IN_FLIGHT = 3


def values(chance: random.Random) -> list[bytes]:
    size = chance.choice(RECORDS_BYTES)
    count = chance.choice([1, 3, 20, 200])
    return [chance.randbytes(max(size // count, 1)) for _ in range(count)]


def request(number: int, topic: str, per_partition: list[list[bytes]]) -> bytes:
    parts = [
        {"index": index, "records": batches.batch(each, timestamp=START_MS)}
        for index, each in enumerate(per_partition)
    ]
    topic_data = [{"name": topic, "partition_data": parts}]
    return framed(
        ApiKey.PRODUCE, 9, correlation_id=number, acks=-1, timeout_ms=30_000, topic_data=topic_data
    )


async def produce(sockets: NodeSockets, topic: str, seed: int) -> list[list[bytes]]:
    """Send requests, several at a time and in pieces; returns the values of both partitions."""
    chance = random.Random(seed)
    reader, writer = await asyncio.open_connection(*sockets.address)
    sent: list[list[bytes]] = [[], []]
    in_flight: asyncio.Semaphore = asyncio.Semaphore(IN_FLIGHT)

    async def send() -> None:
        for number in range(REQUESTS):
            await in_flight.acquire()
            both = [values(chance), values(chance)]
            for all_of, each in zip(sent, both, strict=True):
                all_of += each
            data = memoryview(request(number, topic, both))
            while data:
                size = chance.choice([1, 3, 5, 100, 40_000, 66_000, 1 << 20])
                writer.write(data[:size])
                await writer.drain()
                data = data[size:]
                if chance.random() < 0.5:
                    await asyncio.sleep(0)

    sending = asyncio.ensure_future(send())
    for number in range(REQUESTS):
        answer = await read_frame(reader)
        assert int.from_bytes(answer[:4], "big") == number
        in_flight.release()
    await sending
    writer.close()
    await writer.wait_closed()
    return sent


def stored(node: Node, topic: str, partition: int) -> list[bytes]:
    log = node.open_log_of(topic, partition)
    assert log is not None
    end = log.log_end_offset
    data = bytes(log.read(0, max_bytes=1 << 30, up_to=end, min_one=True).records)
    found: list[bytes] = []
    for batch in batches.batches_in(data):
        found += [record.value or b"" for record in batch.records]
    return found


@pytest.mark.parametrize("flush_messages", ["1", "1000000"])
@pytest.mark.real_time
async def test_the_log_has_the_bytes_that_were_sent(tmp_path: Path, flush_messages: str) -> None:
    """With a flush each request waits while the next ones are received."""
    async with listening_node(tmp_path) as (node, sockets):
        configs = {"flush.messages": flush_messages, "max.message.bytes": str(4 << 20)}
        topics = [f"topic-{number}" for number in range(CLIENTS)]
        for topic in topics:
            node.controller.create_topic(topic, partitions=2, configs=configs)
        sent = await asyncio.gather(
            *(produce(sockets, topic, seed) for seed, topic in enumerate(topics))
        )
        for topic, both in zip(topics, sent, strict=True):
            for partition, expected in enumerate(both):
                assert stored(node, topic, partition) == expected
        buffers = sockets._shared.buffers
        assert buffers.held_bytes > 1 << 20, "large requests were received in place"
        for _ in range(2):
            buffers.free_unused()
        assert buffers.held_bytes < 1 << 20, "no request is in use any more"


async def test_buffers_that_are_not_needed_are_freed_after_some_minutes(tmp_path: Path) -> None:
    async with listening_node(tmp_path) as (_, sockets):
        buffers = sockets._shared.buffers
        assert buffers.take(1 << 20)
        assert buffers.held_bytes > 1 << 20
        await asyncio.sleep(180)
        assert buffers.held_bytes < 1 << 20
