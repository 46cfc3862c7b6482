"""Bug: the offsets of the input are committed by the consumer, after the transaction.

A crash, or a failed OffsetCommit, between the two leaves the output committed without the offsets:
the next start copies the records again. Right code makes the offsets part of the transaction, with
send_offsets_to_transaction.
"""

from __future__ import annotations

from confluent_kafka import KafkaException

from .copying import abort, batches, commit, consumer, ends, error_of, go_back, producer, send


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(), producer()
    for messages in batches(reader):
        writer.begin_transaction()
        try:
            send(writer, messages)
            commit(writer)
        except KafkaException as failed:
            if not error_of(failed).txn_requires_abort():
                raise
            abort(writer)
            go_back(reader)
        else:
            reader.commit(offsets=ends(messages), asynchronous=False)


if __name__ == "__main__":
    main()
