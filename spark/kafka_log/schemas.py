"""The levels of the data source `kafka-log` and their columns, as names with types of Spark's SQL.

Plain text, so that it imports without PySpark; `struct_type` makes Spark's schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class Level(StrEnum):
    """A kind of row that the source makes from the same files."""

    RECORDS = "records"
    BATCHES = "batches"
    TRANSACTIONS = "transactions"
    OFFSETS = "offsets"
    TXN_STATE = "txn_state"
    METADATA = "metadata"
    DAMAGE = "damage"


# Each column: its name and its type. Offsets, timestamps and ids are as in Kafka: -1 is none.
_RECORDS: Final = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
    "producer_id": "bigint",
    "producer_epoch": "smallint",
    "sequence": "int",
    "transactional": "boolean",
    "control": "boolean",
    "fate": "string",
    "codec": "string",
    "crc_ok": "boolean",
    "segment": "string",
    "position": "bigint",
    "leader_epoch": "int",
}
_BATCHES: Final = {
    "topic": "string",
    "partition": "int",
    "base_offset": "bigint",
    "last_offset": "bigint",
    "producer_id": "bigint",
    "producer_epoch": "smallint",
    "base_sequence": "int",
    "last_sequence": "int",
    "transactional": "boolean",
    "control": "boolean",
    "control_type": "string",
    "coordinator_epoch": "int",
    "max_timestamp": "timestamp",
    "first_timestamp": "timestamp",
    "timestamp_type": "int",
    "records": "int",
    "codec": "string",
    "size": "bigint",
    "crc_ok": "boolean",
    "leader_epoch": "int",
    "delete_horizon": "timestamp",
    "segment": "string",
    "position": "bigint",
}
_TRANSACTIONS: Final = {
    "topic": "string",
    "partition": "int",
    "producer_id": "bigint",
    "producer_epoch": "smallint",
    "first_offset": "bigint",
    "last_offset": "bigint",
    "last_data_offset": "bigint",
    "fate": "string",
    "marker_epoch": "smallint",
    "coordinator_epoch": "int",
    "records": "bigint",
    "batches": "bigint",
    "bytes": "bigint",
    "first_timestamp": "timestamp",
    "last_timestamp": "timestamp",
    "marker_timestamp": "timestamp",
    "segment": "string",
}
_WHERE: Final = {
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
}
_OFFSETS: Final = {
    **_WHERE,
    "key_version": "smallint",
    "kind": "string",
    "group_id": "string",
    "topic": "string",
    "topic_partition": "int",
    "committed_offset": "bigint",
    "committed_leader_epoch": "int",
    "metadata": "string",
    "commit_timestamp": "timestamp",
    "expire_timestamp": "timestamp",
    "tombstone": "boolean",
    "producer_id": "bigint",
    "producer_epoch": "smallint",
    "transactional": "boolean",
    "fate": "string",
    "key_json": "string",
    "value_json": "string",
    "error": "string",
    "segment": "string",
    "position": "bigint",
}
_TXN_STATE: Final = {
    **_WHERE,
    "key": "binary",
    "transactional_id": "string",
    "version": "smallint",
    "state": "string",
    "producer_id": "bigint",
    "producer_epoch": "smallint",
    "previous_producer_id": "bigint",
    "next_producer_id": "bigint",
    "next_producer_epoch": "smallint",
    "timeout_ms": "int",
    "partitions": "array<struct<topic:string,partition:int>>",
    "last_update_timestamp": "timestamp",
    "start_timestamp": "timestamp",
    "client_transaction_version": "smallint",
    "tombstone": "boolean",
    "value_json": "string",
    "error": "string",
    "segment": "string",
    "position": "bigint",
}
_METADATA: Final = {
    **_WHERE,
    "api_key": "int",
    "type": "string",
    "version": "smallint",
    "topic": "string",
    "topic_id": "string",
    "topic_partition": "int",
    "json": "string",
    "error": "string",
    "segment": "string",
    "position": "bigint",
}
_DAMAGE: Final = {
    "topic": "string",
    "partition": "int",
    "segment": "string",
    "file": "string",
    "kind": "string",
    "position": "bigint",
    "end_position": "bigint",
    "offset": "bigint",
    "next_offset": "bigint",
    "why": "string",
}

COLUMNS: Final[Mapping[Level, Mapping[str, str]]] = {
    Level.RECORDS: _RECORDS,
    Level.BATCHES: _BATCHES,
    Level.TRANSACTIONS: _TRANSACTIONS,
    Level.OFFSETS: _OFFSETS,
    Level.TXN_STATE: _TXN_STATE,
    Level.METADATA: _METADATA,
    Level.DAMAGE: _DAMAGE,
}
"""The columns of each level, in order: name and type."""

TOPICS: Final = {
    Level.OFFSETS: "__consumer_offsets",
    Level.TXN_STATE: "__transaction_state",
    Level.METADATA: "__cluster_metadata",
}
"""The levels that decode one internal topic, and the topic."""


def struct_type(level: Level | str, columns: tuple[str, ...] = ()) -> StructType:
    """The schema of a level in Spark, of all columns or of `columns`. Needs no session."""
    from pyspark.sql import types

    plain = {
        "binary": types.BinaryType(),
        "string": types.StringType(),
        "boolean": types.BooleanType(),
        "smallint": types.ShortType(),
        "int": types.IntegerType(),
        "bigint": types.LongType(),
        "timestamp": types.TimestampType(),
    }

    def fields(pairs: list[tuple[str, str]]) -> StructType:
        return types.StructType([types.StructField(name, of(kind)) for name, kind in pairs])

    def of(kind: str) -> types.DataType:
        inner = kind.removeprefix("array<struct<").removesuffix(">>")
        if inner == kind:
            return plain[kind]
        pairs = [tuple(each.split(":")) for each in inner.split(",")]
        return types.ArrayType(fields([(name, kind) for name, kind in pairs]))

    known = COLUMNS[Level(level)]
    return fields([(name, known[name]) for name in columns or known])
