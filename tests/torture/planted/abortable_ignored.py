"""Bug: after an error that aborts the transaction the program goes on with the next records.

TRANSACTION_ABORTABLE, or any other error that needs an abort, takes the output of the transaction
away. The consumer has its position behind these records, and the next transaction commits later
offsets: the records are lost. Right code goes back to the committed offsets after the abort.
"""

from __future__ import annotations

from confluent_kafka import KafkaException

from .copying import abort, batches, commit, consumer, error_of, producer, say, send, send_offsets


def main() -> None:
    """Copy until SIGTERM."""
    reader, writer = consumer(), producer()
    for messages in batches(reader):
        writer.begin_transaction()
        try:
            send(writer, messages)
            send_offsets(writer, reader, messages)
            commit(writer)
        except KafkaException as failed:
            if not error_of(failed).txn_requires_abort():
                raise
            say(failed)
            abort(writer)


if __name__ == "__main__":
    main()
