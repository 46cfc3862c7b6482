"""Who appends a batch, and the result of an append."""

from __future__ import annotations

from enum import Enum, auto

from ..protocol.named_tuple import NamedTuple


class Origin(Enum):
    """The author of a batch; only a client's batches are validated."""

    CLIENT = auto()
    COORDINATOR = auto()


class Appended(NamedTuple):
    """The result of an append.

    Attributes:
        log_append_time_ms: the broker's timestamp in a topic with LogAppendTime, else -1. For a
            duplicate its batch's max timestamp, as in Kafka.
        is_duplicate: the batch is in the log already; nothing was written.
    """

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    is_duplicate: bool
