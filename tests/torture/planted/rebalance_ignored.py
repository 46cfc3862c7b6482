"""Bug: records of partitions that the group has taken away are copied, and no broker can see it.

The offsets are sent without the member and its generation: the metadata is that of a consumer that
never joined. A copy that was paused for long copies what it has in memory, and the coordinator does
not refuse the offsets, although another copy has read the same records meanwhile. Right code sends
the metadata of its own consumer.
"""

from __future__ import annotations

from confluent_kafka import KafkaException

from .copying import (
    TIMEOUT_S,
    abort,
    batches,
    commit,
    consumer,
    ends,
    error_of,
    go_back,
    producer,
    retried,
    send,
    stranger,
)


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(), producer()
    metadata = stranger().consumer_group_metadata()
    for messages in batches(reader):
        writer.begin_transaction()
        try:
            send(writer, messages)
            arguments = (ends(messages), metadata, TIMEOUT_S)
            retried(writer.send_offsets_to_transaction, *arguments)
            commit(writer)
        except KafkaException as failed:
            if not error_of(failed).txn_requires_abort():
                raise
            abort(writer)
            go_back(reader)


if __name__ == "__main__":
    main()
