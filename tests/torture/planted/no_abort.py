"""Bug: after an exception the transaction is left open, and the loop goes on.

The error keeps the producer from every later transaction: begin_transaction fails, and the program
swallows this too, so that nothing is copied any more. Right code aborts, goes back to the committed
offsets, and ends if the abort fails.
"""

from __future__ import annotations

from confluent_kafka import KafkaException

from .copying import batches, commit, consumer, producer, say, send, send_offsets


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(), producer()
    for messages in batches(reader):
        try:
            writer.begin_transaction()
            send(writer, messages)
            send_offsets(writer, reader, messages)
            commit(writer)
        except KafkaException as failed:
            say(failed)


if __name__ == "__main__":
    main()
