"""Sends one record and waits for its acknowledgement."""

import asyncio
import os

from aiokafka import AIOKafkaProducer


async def main() -> None:
    """Send it."""
    producer = AIOKafkaProducer(bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"])
    await producer.start()
    try:
        sent = await producer.send_and_wait("museum", b"a")
        print("seen: sent", sent.offset)
    except Exception as failed:
        print("seen: failed", type(failed).__name__)
    finally:
        await producer.stop()


asyncio.run(main())
