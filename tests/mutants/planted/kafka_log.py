"""Bugs of the data source `kafka-log`."""

from __future__ import annotations

from typing import Final

from ..mutant import Mutant

_LARGE: Final = ("tests/spark/kafka_log/test_large.py",)
_RECORDS: Final = ("tests/spark/kafka_log/test_records.py",)
_DAMAGE: Final = ("tests/spark/kafka_log/test_damage.py",)
_STREAMS: Final = ("tests/spark/kafka_log/test_streams.py",)
_DATA_LOSS: Final = ("tests/spark/kafka_log/test_data_loss.py",)
_LEVELS: Final = ("tests/spark/kafka_log/test_levels.py",)

MUTANTS: Final = (
    Mutant(
        "a-wrong-length-is-believed-without-its-crc",
        "spark/kafka_log/heads.py",
        "if before >= 0 and offset_of_valid(file, before, range_.file_end) is None:",
        "if False:",
        "behind a damaged length, valid batches are missing at level batches, and fates are wrong",
        _LARGE,
    ),
    Mutant(
        "headers-are-read-with-their-bodies",
        "spark/kafka_log/heads.py",
        "self._is_sparse = size_bytes > self._file.skip_bytes",
        "self._is_sparse = False",
        "level batches reads all bytes",
        _LARGE,
    ),
    Mutant(
        "a-control-batch-has-its-header-alone",
        "spark/kafka_log/heads.py",
        "head = window.read(position, size)",
        "pass",
        "the types of markers are unreadable, and each transaction stays open",
        (*_LARGE, *_RECORDS),
    ),
    Mutant(
        "a-portion-drops-the-record-at-its-end",
        "spark/kafka_log/portions.py",
        "rest = data[end:]",
        'rest = b""',
        "records of large batches are missing",
        _LARGE,
    ),
    Mutant(
        "a-large-batch-may-have-bytes-behind-its-records",
        "spark/kafka_log/portions.py",
        "if remaining or rest:",
        "if remaining:",
        "damage is not named",
        _LARGE,
    ),
    Mutant(
        "the-sizes-of-records-need-not-fit",
        "spark/kafka_log/parsing.py",
        "    return at == end\n\n\ndef parse_part(",
        "    return True\n\n\ndef parse_part(",
        "records that are not readable are returned, without a row of damage",
        _DAMAGE,
    ),
    Mutant(
        "the-search-goes-on-behind-the-claimed-length",
        "spark/kafka_log/blocks.py",
        "found = _search(file, at + 1, range_)",
        "found = _search(file, claimed or at + 1, range_)",
        "a wrong length hides valid batches",
        _DAMAGE,
    ),
    Mutant(
        "a-fate-is-that-of-the-producers-last-marker",
        "spark/kafka_log/fates.py",
        "return markers[0][1]",
        "return markers[-1][1]",
        "aborted records appear as committed ones",
        _RECORDS,
    ),
    Mutant(
        "fates-end-with-the-segment",
        "spark/kafka_log/fates.py",
        "if segment.base_offset > self._segment.base_offset:",
        "if False:",
        "records whose marker is in the next segment are open for ever",
        _RECORDS,
    ),
    Mutant(
        "a-committed-stream-passes-open-transactions",
        "spark/kafka_log/stream.py",
        "end = min([end, *open_at(log.partition).values()])",
        "pass",
        "records of open transactions are skipped for ever",
        _STREAMS,
    ),
    Mutant(
        "a-filter-excludes-the-last-wanted-offset",
        "spark/kafka_log/pushdown.py",
        "int(max(values)) + 1))",
        "int(max(values))))",
        "the last record of `offset <= n` is missing",
        _STREAMS,
    ),
    Mutant(
        "a-transaction-of-two-tasks-has-two-rows",
        "spark/kafka_log/transaction_rows.py",
        "if batch.pid in self._foreign:\n            return",
        "if False:\n            return",
        "a transaction over the end of a segment is counted twice",
        _LEVELS,
    ),
    Mutant(
        "offsets-that-go-back-are-no-damage",
        "spark/kafka_log/damage_rows.py",
        "(base < least) | (last >= limit) | (last < base)",
        "(last >= limit) | (last < base)",
        "a batch twice in the log is not named",
        _DAMAGE,
    ),
    Mutant(
        "a-log-that-is-shorter-than-the-stream-lost-nothing",
        "spark/kafka_log/positions.py",
        "if extent.ends < at and first_offset < at:",
        "if False:",
        "records of a topic that was made again are skipped",
        _DATA_LOSS,
    ),
    Mutant(
        "a-topic-is-known-by-its-name",
        "spark/kafka_log/positions.py",
        "return bool(known_id and topic_id) and known_id != topic_id",
        "return False",
        "records of a topic that was made again are skipped",
        _DATA_LOSS,
    ),
    Mutant(
        "a-deleted-topic-lost-nothing",
        "spark/kafka_log/stream.py",
        'return f"{name} is gone" if',
        'return "" if',
        "a stream of a deleted topic waits for ever",
        _DATA_LOSS,
    ),
    Mutant(
        "a-batch-may-end-behind-its-log",
        "spark/kafka_log/stream.py",
        "if at < until and extent.ends < until:",
        "if False:",
        "a batch that is planned again lacks records",
        _DATA_LOSS,
    ),
    Mutant(
        "the-first-offset-is-for-the-first-partitions",
        "spark/kafka_log/positions.py",
        "begins = max(extent.begins, first_offset)",
        "begins = extent.begins",
        "partitions that appear later have records that are not wanted",
        _DATA_LOSS,
    ),
)
