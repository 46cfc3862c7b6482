"""The size limit of batches, and batches with the broker's timestamps.

Batches of the broker itself need these too; what only a client's batch needs is in
`client_batch.py`.
"""

from __future__ import annotations

from typing import Final

from ...protocol.batch import HEADER, LOG_APPEND_TIME, BatchHeader, Bytes, seal
from ...protocol.errors import Code, Refused

MEANT: Final = 0x7F
"""The defined attributes; a change of the header drops the others."""


def check_size(size_bytes: int, max_message_bytes: int) -> None:
    """Raise Refused(MESSAGE_TOO_LARGE) for a batch above the limit."""
    if size_bytes > max_message_bytes:
        raise Refused(
            Code.MESSAGE_TOO_LARGE,
            f"a record batch of {size_bytes} bytes; max.message.bytes is {max_message_bytes}",
        )


def header_with_append_time(header: BatchHeader, now_ms: int) -> BatchHeader:
    """The header of the batch if all records get the broker's timestamp."""
    attributes = header.attributes & MEANT | LOG_APPEND_TIME
    return header._replace(attributes=attributes, max_timestamp_ms=now_ms)


def records_with_times(records: Bytes, header: BatchHeader) -> bytearray:
    """A copy of the batch with the attributes and max timestamp of `header`, and a new CRC."""
    batch = bytearray(memoryview(records)[: header.size_bytes])
    HEADER.pack_into(batch, 0, *header)
    seal(batch)
    return batch
