"""Bug: the program does not look whether the records were written, and commits the offsets anyway.

The producer has no transactions and acks=0. A Produce that fails, or that a crash cuts off, loses
its records. Right code waits for the results of delivery, and uses a transaction for exactly once.
"""

from __future__ import annotations

from .copying import batches, consumer, ends, plain_producer, send


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(), plain_producer(acks="0")
    for messages in batches(reader):
        send(writer, messages)
        writer.poll(0)
        reader.commit(offsets=ends(messages), asynchronous=False)


if __name__ == "__main__":
    main()
