"""A trace as a Parquet file, by pyarrow (`ottla[parquet]`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from .events import BrokenTrace, Event
from .rows import Rows

_ROWS_AT_ONCE: Final = 10_000
SCHEMA: Final = pa.schema(
    [
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("time", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        ("cause", pa.int64()),
        ("node_id", pa.int32()),
        ("connection", pa.string()),
        ("client_id", pa.string()),
        ("principal", pa.string()),
        ("listener", pa.string()),
        ("api", pa.string()),
        ("version", pa.int32()),
        ("correlation_id", pa.int32()),
        ("duration_ms", pa.float64()),
        ("error_codes", pa.list_(pa.string())),
        ("unanswered", pa.string()),
        ("undecoded", pa.string()),
        ("transactional_id", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("group_id", pa.string()),
        ("topics", pa.list_(pa.string())),
        ("partitions", pa.list_(pa.struct([("topic", pa.string()), ("partition", pa.int32())]))),
        ("request", pa.string()),
        ("response", pa.string()),
        ("changes", pa.string()),
        ("faults", pa.string()),
    ]
)


def write(events: Iterable[Event], file: Path) -> int:
    """Write one row for each event; return their number.

    Raises:
        OSError: the file cannot be written. BrokenTrace: the events are none.
    """
    rows = Rows().of(events)
    count = 0
    try:
        with pq.ParquetWriter(file, SCHEMA) as writer:
            while part := list(islice(rows, _ROWS_AT_ONCE)):
                writer.write_table(pa.Table.from_pylist(part, SCHEMA))
                count += len(part)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as wrong:
        file.unlink(missing_ok=True)
        raise BrokenTrace(f"a field has another type: {wrong}") from None
    except BrokenTrace:
        file.unlink(missing_ok=True)
        raise
    return count
