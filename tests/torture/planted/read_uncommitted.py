"""Bug: the input is read with read_uncommitted.

Records of aborted transactions are copied. Right code reads with read_committed, which is not the
default of Kafka's own client.
"""

from __future__ import annotations

from .copying import batches, consumer, copy, producer


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(isolation_level="read_uncommitted"), producer()
    for messages in batches(reader):
        copy(reader, writer, messages)


if __name__ == "__main__":
    main()
