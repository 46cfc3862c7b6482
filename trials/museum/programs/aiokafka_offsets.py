"""Commits offsets in a transaction, after its coordinator has moved."""

import asyncio
import logging
import os
import sys

from aiokafka import AIOKafkaProducer, TopicPartition


async def main() -> None:
    """Commit them in two transactions."""
    logging.basicConfig(level=logging.ERROR)
    producer = AIOKafkaProducer(
        bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"], transactional_id="shop"
    )
    await producer.start()
    for offset in (1, 2):
        await producer.begin_transaction()
        await producer.send_and_wait("museum", b"a")
        try:
            offsets = {TopicPartition("museum", 0): offset}
            await producer.send_offsets_to_transaction(offsets, "museum")
            await producer.commit_transaction()
            print("seen: committed", offset, flush=True)
        except Exception as failed:
            print("seen: failed", repr(failed), flush=True)
        if offset == 1:
            await asyncio.to_thread(sys.stdin.readline)
    await producer.stop()


asyncio.run(main())
