"""Bug: a producer that was fenced is used again.

A fenced producer refuses every call. The program takes this for a passing error, and goes on
reading with the same producer: it looks alive, and copies nothing. Right code ends, or makes a new
producer and goes on from the committed offsets.
"""

from __future__ import annotations

from confluent_kafka import KafkaException

from .copying import batches, consumer, copy, producer, say


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(), producer()
    for messages in batches(reader):
        try:
            copy(reader, writer, messages)
        except KafkaException as failed:
            say(failed)


if __name__ == "__main__":
    main()
