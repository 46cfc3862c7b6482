"""Sends a record in a transaction, waits for a line, and commits."""

import asyncio
import logging
import os
import sys

from aiokafka import AIOKafkaProducer


async def main() -> None:
    """Send and commit."""
    logging.basicConfig(level=logging.INFO)
    producer = AIOKafkaProducer(
        bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"], transactional_id="shop"
    )
    await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait("museum", b"a")
    print("seen: sent", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await producer.commit_transaction()
    print("seen: committed")
    await producer.stop()


asyncio.run(main())
