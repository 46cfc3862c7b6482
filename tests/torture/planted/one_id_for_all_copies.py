"""Bug: all copies have the same transactional id.

Each start takes the id from the other copies, aborts their transactions and fences their
producers. They end, and start again, and fence the others: the copies stop each other for ever.
Right code has an id for each copy, which the copy keeps when it starts again.
"""

from __future__ import annotations

import os

from .copying import batches, consumer, copy, producer


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(), producer(os.environ["OTTLA_GROUP"])
    for messages in batches(reader):
        copy(reader, writer, messages)


if __name__ == "__main__":
    main()
