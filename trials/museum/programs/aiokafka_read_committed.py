"""Reads committed records of a partition to the record "last"."""

import asyncio
import os

from aiokafka import AIOKafkaConsumer


async def main() -> None:
    """Read them."""
    consumer = AIOKafkaConsumer(
        "museum",
        bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    await consumer.start()
    value = b""
    try:
        while value != b"last":
            value = (await consumer.getone()).value
            print("seen: read", value.decode())
    except Exception as failed:
        print("seen: failed", type(failed).__name__)
    finally:
        await consumer.stop()


asyncio.run(main())
