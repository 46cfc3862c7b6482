"""The settings of one log: Kafka's topic configurations, typed, with Kafka's defaults.

A `LogConfig` is an immutable value; a log gets a new one when its topic's settings change. Names
are those of Kafka's LogConfig class, with underscores for dots.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final

from ..protocol.checksum import crc32c
from ..protocol.lazy_dataclass import dataclass

LONG_MAX: Final = 0x7FFFFFFFFFFFFFFF
ANY_SIZE: Final = 2_147_483_639  # of an array of bytes in Java


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Sizes in bytes, times in ms; -1 where it means "no limit" in Kafka.

    Attributes:
        keeps_batches: valid batches are appended with the producer's compression.
        stamps: records get the broker's timestamp (LogAppendTime).
        compacts, deletes: from `cleanup_policy`.
        max_segment_ms: age at which a segment is rolled (LogConfig.maxSegmentMs). Only rolled
            segments are compacted, so `max_compaction_lag_ms` rolls them earlier.
    """

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    index_interval_bytes: int = 4_096
    max_compaction_lag_ms: int = LONG_MAX
    max_decompressed_message_bytes: int = ANY_SIZE
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    producer_id_expiration_ms: int = 86_400_000
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    unclean_leader_election_enable: bool = False
    # Derived values, computed once, because each append needs them several times.
    keeps_batches: bool = field(init=False, compare=False, repr=False)
    stamps: bool = field(init=False, compare=False, repr=False)
    compacts: bool = field(init=False, compare=False, repr=False)
    deletes: bool = field(init=False, compare=False, repr=False)
    max_segment_ms: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        compacts, segment_ms = "compact" in self.cleanup_policy, self.segment_ms
        if compacts:
            segment_ms = min(segment_ms, self.max_compaction_lag_ms)
        put = object.__setattr__  # bypasses `frozen`
        stamps = self.message_timestamp_type == "LogAppendTime"
        put(self, "keeps_batches", not stamps and self.compression_type == "producer")
        put(self, "stamps", stamps)
        put(self, "compacts", compacts)
        put(self, "deletes", "delete" in self.cleanup_policy)
        put(self, "max_segment_ms", segment_ms)

    def jitter_ms(self, segment: str) -> int:
        """How much earlier a segment is rolled, so that logs of one age do not roll together.

        Args:
            segment: its name, which determines the jitter.
        """
        most = min(self.segment_jitter_ms, self.max_segment_ms)
        return crc32c(segment.encode()) % most if most > 0 else 0

    @property
    def compression_level(self) -> int | None:
        """The level for `compression_type`; None if it has none."""
        match self.compression_type:
            case "gzip":
                return self.compression_gzip_level
            case "lz4":
                return self.compression_lz4_level
            case "zstd":
                return self.compression_zstd_level
        return None
