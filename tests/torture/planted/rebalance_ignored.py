"""Bug: records of revoked partitions are copied, and the broker cannot see it.

Records are collected over several polls, in which the group may rebalance: another copy reads the
same records again from the committed offsets. The offsets are sent without the member and its
generation (the metadata is that of a consumer that never joined), so the coordinator does not
refuse them. Right code sends the metadata of its consumer, and drops what it has of a partition
when that is revoked.
"""

from __future__ import annotations

import os

from confluent_kafka import Consumer, KafkaException, Message

from .copying import (
    TIMEOUT_S,
    abort,
    batches,
    commit,
    consumer,
    ends,
    error_of,
    producer,
    retried,
    send,
)

_COLLECTED = 20


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(), producer()
    stranger = Consumer(
        {
            "bootstrap.servers": os.environ["OTTLA_BOOTSTRAP"],
            "group.id": os.environ["OTTLA_GROUP"],
        }
    )
    metadata = stranger.consumer_group_metadata()
    collected: list[Message] = []
    for messages in batches(reader):
        collected += messages
        if len(collected) < _COLLECTED:
            continue
        writer.begin_transaction()
        try:
            send(writer, collected)
            offsets = ends(collected)
            retried(lambda: writer.send_offsets_to_transaction(offsets, metadata, TIMEOUT_S))  # noqa: B023
            commit(writer)
        except KafkaException as failed:
            if not error_of(failed).txn_requires_abort():
                raise
            abort(writer)
            continue
        collected = []


if __name__ == "__main__":
    main()
