"""Arrow columns from columns of numpy, and batches of rows with the schema that Spark expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import numpy.typing as npt
    from pyspark.sql.types import StructType

Column = Callable[[], pa.Array]
"""Makes a column; called only if the query wants it."""

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
# A list, since the first array of pyarrow imports pandas, and not each importer makes columns.
_CODECS: Final = ["none", "gzip", "snappy", "lz4", "zstd", "5", "6", "7"]
# Spark's timestamps are microseconds: later ones are as unreadable to it as none.
_LATEST_MS: Final = (1 << 63) // 1000 - 1


def arrow_schema(schema: StructType) -> pa.Schema:
    """Spark's schema in Arrow, exactly as PySpark compares it."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # PySpark 4.0 has no argument: its timestamps are always UTC
        return to_arrow_schema(schema)


def record_batch(schema: pa.Schema, columns: Mapping[str, Column]) -> pa.RecordBatch:
    """The rows of a schema; columns that it does not name are not made."""
    arrays = []
    for field in schema:
        array = columns[field.name]()
        if array.type != field.type:
            array = array.cast(field.type)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def rows_to_batch(schema: pa.Schema, rows: Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    """A batch from a few rows; a missing name is null."""
    return pa.RecordBatch.from_arrays(
        [_array(field, [row.get(field.name) for row in rows]) for field in schema], schema=schema
    )


def _array(field: pa.Field, values: list[object]) -> pa.Array:
    if pa.types.is_timestamp(field.type):
        return timestamps(np.array([-1 if v is None else v for v in values], np.int64))
    return pa.array(values, field.type)


def numbers(values: npt.NDArray[np.generic]) -> pa.Array:
    """A column of numbers of any byte order."""
    return pa.array(values.astype(values.dtype.newbyteorder("=")))


def timestamps(ms: npt.NDArray[np.int64]) -> pa.Array:
    """A column of times in ms since 1970; negative ones are null."""
    ms = ms.astype(np.int64)
    none = (ms < 0) | (ms > _LATEST_MS)
    return pa.array(np.where(none, 0, ms) * 1000, mask=none).cast(TIMESTAMP)


def constant(value: object, kind: pa.DataType, count: int) -> pa.Array:
    """A column of one value."""
    return pa.repeat(pa.scalar(value, kind), count)


def codecs(attributes: npt.NDArray[np.integer]) -> pa.Array:
    """The names of the codecs in attributes of batches."""
    return pa.array(_CODECS).take(pa.array((attributes & 7).astype(np.int8)))


def last_offsets(headers: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """The offset of the last record of each batch."""
    sums: npt.NDArray[np.int64] = headers["base_offset"] + headers["last_offset_delta"]
    return sums.astype(np.int64)
