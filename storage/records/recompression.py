"""Recompresses batches for topics whose `compression.type` differs from the producer's codec.

The batch is rewritten like a new one (Kafka's LogValidator): its base timestamp is that of its
first record, offset deltas that are not in order are replaced, and undefined attributes are
dropped. Timestamps and sequence numbers stay. If a client says that its batch has the time of its
append, each record gets the batch's largest timestamp, as a record of such a batch is read.
Large batches are rewritten piece by piece, until the result exceeds the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import count
from typing import Final

from ...protocol.batch import (
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    TRANSACTIONAL,
    BatchHeader,
    Bytes,
    Compression,
    seal,
)
from ...protocol.compression import Packer, compressed, packer
from ...protocol.java_integers import wrapped_long
from ..steps import Steps, elsewhere
from .payloads import PIECE_SIZES, Payload, PieceSizes, feed
from .record_copy import RecordCopy, copied
from .record_stream import Head, RecordStream
from .size_and_times import check_size

PRODUCER: Final = "producer"

CODECS: Final = {"uncompressed": Compression.NONE} | {
    codec.name.lower(): codec for codec in Compression if codec is not Compression.NONE
}
"""The codec of each `compression.type`; `producer` has none."""

PACKED_AT_ONCE_BYTES: Final = 1 << 14
"""Largest payload that is compressed at once."""


def recompress_batch(
    records: Bytes,
    header: BatchHeader,
    codec: Compression,
    level: int | None,
    max_message_bytes: int,
    *,
    is_in_order: bool = True,
    sizes: PieceSizes = PIECE_SIZES,
) -> Steps[tuple[Bytes, BatchHeader]]:
    """A checked batch in another codec, and its header.

    Args:
        level: compression level; None: Kafka's default.
        is_in_order: the offset deltas are 0, 1, 2 and so on.
        sizes: of the pieces that are decompressed at once.

    Raises:
        Refused: MESSAGE_TOO_LARGE.
    """
    shift_ms = yield from _first_delta_ms(records, header, sizes)
    base_timestamp_ms = header.time_ms(shift_ms)
    batch = _Growing(partial(packer, codec, level), max_message_bytes)
    source = Payload(records, 0, header, sizes=sizes)
    payload = source.at_hand()
    if shift_ms or not is_in_order or header.attributes & LOG_APPEND_TIME:
        copy, offset_deltas = RecordCopy(header.record_count), count()

        def new_deltas(delta_ms: int, _: int) -> tuple[int, int]:
            return wrapped_long(header.time_ms(delta_ms) - base_timestamp_ms), next(offset_deltas)

        walk = copy.copy(lambda entry: True, new_deltas)
        yield from copied(copy, walk, source, batch.add)
        yield from elsewhere(batch.end)
    elif payload is None:
        while (piece := (yield from source.next_piece())) is not None:
            yield from batch.add(piece)
        yield from elsewhere(batch.end)
    else:
        batch.data += yield from elsewhere(partial(compressed, codec, payload, level))
        check_size(len(batch.data), max_message_bytes)
    data = batch.data
    header = header._replace(
        length=len(data) - LOG_OVERHEAD,
        attributes=header.attributes & TRANSACTIONAL | codec,
        base_timestamp_ms=base_timestamp_ms,
    )
    HEADER.pack_into(data, 0, *header)
    seal(data)
    return data, header


def _first_delta_ms(records: Bytes, header: BatchHeader, sizes: PieceSizes) -> Steps[int]:
    """The timestamp delta of the first record."""
    first: list[int] = []

    def is_first(head: Head) -> bool:
        first.append(head.timestamp_delta_ms)
        return True

    stream = RecordStream(header.record_count)
    payload = Payload(records, 0, header, sizes=sizes)
    payload.at_hand()
    yield from feed(stream, stream.heads(is_first), payload)
    return first[0]


class _Growing:
    """A growing batch with a size limit; its header is not set.

    Args:
        new_packer: called on the thread that compresses, since it may import a library.
    """

    def __init__(self, new_packer: Callable[[], Packer], max_message_bytes: int) -> None:
        self.data = bytearray(HEADER_SIZE)
        self._new_packer = new_packer
        self._limit_bytes = max_message_bytes

    @cached_property
    def _packer(self) -> Packer:
        return self._new_packer()

    def add(self, piece: bytes) -> Steps[None]:
        """Compress a piece, on another thread. Raises Refused(MESSAGE_TOO_LARGE)."""
        yield from elsewhere(partial(self._grow, piece))

    def end(self) -> None:
        """Compress the rest. Raises as `add`."""
        self.data += self._packer.end()
        check_size(len(self.data), self._limit_bytes)

    def _grow(self, piece: bytes) -> None:
        self.data += self._packer.add(piece)
        check_size(len(self.data), self._limit_bytes)
