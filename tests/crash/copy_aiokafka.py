"""A copy loop with aiokafka, in a process that a test kills and restarts.

`python -m tests.crash.copy_aiokafka HOST:PORT PARTITION SEED` works like copy_confluent.py.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from random import Random

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import GroupLoadInProgressError, KafkaError
from aiokafka.structs import TopicPartition

TRANSACTION = 8
TIMEOUT_S = 5.0
ABORTED = 0.2


class _Aborted(Exception):
    """The transaction was aborted and has to be repeated."""


async def copy(
    consumer: AIOKafkaConsumer, producer: AIOKafkaProducer, partition: int, random: Random
) -> None:
    """Copy from the committed offset to the end. Raises KafkaError, TimeoutError."""
    place = TopicPartition("input", partition)
    consumer.assign([place])
    end = (await consumer.end_offsets([place]))[place]
    position = await committed(consumer, place)
    consumer.seek(place, position)
    while position < end:
        wanted = min(TRANSACTION, end - position)
        async with asyncio.timeout(TIMEOUT_S):
            found = await consumer.getmany(place, timeout_ms=1000, max_records=wanted)
        values = [each.value for each in found.get(place, ())]
        position += len(values)
        while values:
            is_aborted = random.random() < ABORTED
            if await is_copied(producer, place, position, values, is_aborted=is_aborted):
                break


async def committed(consumer: AIOKafkaConsumer, place: TopicPartition) -> int:
    """The offset to begin at. Raises KafkaError.

    The test commits an offset before the first loop runs, because aiokafka 0.14 ignores the error
    of a whole OffsetFetch answer (version 2 and later): while a coordinator loads, the group would
    seem to have no offsets.
    """
    position: int | None = await consumer.committed(place)
    if position is None:
        raise GroupLoadInProgressError
    return position


async def is_copied(
    producer: AIOKafkaProducer,
    place: TopicPartition,
    position: int,
    values: list[bytes],
    *,
    is_aborted: bool,
) -> bool:
    """Commit one transaction, or abort it and return False."""
    try:
        async with asyncio.timeout(TIMEOUT_S), producer.transaction():
            for value in values:
                await producer.send("output", value, partition=place.partition)
            await producer.send_offsets_to_transaction({place: position}, f"copy-{place.partition}")
            if is_aborted:
                raise _Aborted
    except _Aborted:
        return False
    return True


async def run(bootstrap: str, partition: int, seed: int) -> int:
    """Connect and copy; the exit status."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=f"copy-{partition}",
        isolation_level="read_committed",
        enable_auto_commit=False,
    )
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=f"copy-{partition}", linger_ms=0
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await consumer.start()
            await producer.start()
        await copy(consumer, producer, partition, Random(seed))
    except (KafkaError, TimeoutError) as failed:
        sys.stderr.write(f"{failed!r}\n")
        return 1
    return 0


if __name__ == "__main__":
    logging.disable()
    # The clients are not closed, because the process ends here.
    bootstrap, partition, seed = sys.argv[1:]
    running = run(bootstrap, int(partition), int(seed))
    status = asyncio.new_event_loop().run_until_complete(running)
    sys.stderr.flush()
    os._exit(status)
