"""The action of a transaction coordinator for each error of a marker, as in Apache Kafka 4.1.1.

From TransactionMarkerRequestCompletionHandler. Seen on a running Kafka 4.1.1, too: NONE,
UNKNOWN_TOPIC_OR_PARTITION, MESSAGE_TOO_LARGE (after `max.message.bytes=10`), INVALID_PRODUCER_EPOCH
and TRANSACTION_COORDINATOR_FENCED (after an administrator's WriteTxnMarkers).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ottla.protocol.errors import Code

COUNTS_AS_WRITTEN: Final = "the partition is done with"
RETRIES: Final = "the marker is sent again"
STAYS_PREPARED: Final = "the marker is not sent again, and the transaction stays prepared"

_TABLE: Final = {
    "NONE": COUNTS_AS_WRITTEN,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": COUNTS_AS_WRITTEN,
    "UNSUPPORTED_VERSION": COUNTS_AS_WRITTEN,
    "UNKNOWN_TOPIC_OR_PARTITION": RETRIES,
    "NOT_LEADER_OR_FOLLOWER": RETRIES,
    "NOT_ENOUGH_REPLICAS": RETRIES,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": RETRIES,
    "REQUEST_TIMED_OUT": RETRIES,
    "KAFKA_STORAGE_ERROR": RETRIES,
    # "this txn can now be ignored": it is removed from those whose markers are sent
    "INVALID_PRODUCER_EPOCH": STAYS_PREPARED,
    "TRANSACTION_COORDINATOR_FENCED": STAYS_PREPARED,
    # IllegalStateException("Received fatal error ...")
    "CORRUPT_MESSAGE": STAYS_PREPARED,
    "MESSAGE_TOO_LARGE": STAYS_PREPARED,
    "RECORD_LIST_TOO_LARGE": STAYS_PREPARED,
    "INVALID_REQUIRED_ACKS": STAYS_PREPARED,
}

NAMED: Final = [Code[name] for name in (*_TABLE, "UNKNOWN_SERVER_ERROR", "CONCURRENT_TRANSACTIONS")]
"""Those that Kafka names there, and two of the others."""

# NETWORK_EXCEPTION is what this broker says of an answer that never came; Kafka sends again, too.
MARKER_ANSWERS: Final[Mapping[Code, str]] = {
    # Any other: IllegalStateException("Unexpected error ...")
    code: _TABLE.get(code.name, STAYS_PREPARED)
    for code in Code
    if code is not Code.NETWORK_EXCEPTION
}
