"""Copies a topic exactly once with aiokafka.

It runs against any Kafka, and is a program for `ottla conform -- python copy_aiokafka.py`.
"""

import asyncio
import os

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import CorruptRecordException, KafkaError, ProducerFenced

BOOTSTRAP = os.environ["OTTLA_BOOTSTRAP"]
INPUT = os.environ["OTTLA_INPUT"]
OUTPUT = os.environ["OTTLA_OUTPUT"]
GROUP = os.environ["OTTLA_GROUP"]
TRANSACTIONAL_ID = os.environ["OTTLA_TRANSACTIONAL_ID"]
RECORDS = int(os.environ["OTTLA_RECORDS"])


async def is_copied(producer, found):
    """Copy records in one transaction; False if it was aborted."""
    await producer.begin_transaction()
    try:
        sent = [
            await producer.send(OUTPUT, each.value, each.key)
            for messages in found.values()
            for each in messages
        ]
        await asyncio.gather(*sent)
        offsets = {place: messages[-1].offset + 1 for place, messages in found.items()}
        await producer.send_offsets_to_transaction(offsets, GROUP)
        await producer.commit_transaction()
    except ProducerFenced:
        raise
    except KafkaError:
        await producer.abort_transaction()
        return False
    return True


async def go_back(consumer):
    """Read again from the committed offsets."""
    for place in consumer.assignment():
        consumer.seek(place, await consumer.committed(place) or 0)


async def main():
    """Copy all records."""
    consumer = AIOKafkaConsumer(
        INPUT,
        bootstrap_servers=BOOTSTRAP,
        group_id=GROUP,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    producer = AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, transactional_id=TRANSACTIONAL_ID)
    copied = 0
    async with consumer, producer:
        while copied < RECORDS:
            try:
                found = await consumer.getmany(timeout_ms=300, max_records=10)
            except CorruptRecordException:
                await go_back(consumer)
                continue
            if not found:
                continue
            if await is_copied(producer, found):
                copied += sum(map(len, found.values()))
            else:
                await go_back(consumer)


if __name__ == "__main__":
    asyncio.run(main())
