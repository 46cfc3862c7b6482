"""The options of the data source `kafka-log`, checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .schemas import COLUMNS, TOPICS, Level

END: Final = 1 << 62
"""Behind every offset and every time."""

OPTIONS: Final[Mapping[str, str]] = {
    "path": "the log directory, the argument of `load`; several separated by commas",
    "level": "the kind of rows: `records` (default) or another level",
    "topic": "names of topics, separated by commas, or a pattern with `*`",
    "partition": "numbers of partitions and ranges, such as `0,4-7`",
    "offsets": "offsets FIRST-END, END excluded; either may be left out",
    "time": "times FROM/TO, TO excluded; ISO 8601 in UTC, or ms since 1970; either may be left out",
    "columns": "names of columns, separated by commas: only they are made",
    "isolationLevel": "`read_uncommitted` (default), or `read_committed`: no aborted, open or "
    "control records",
    "damaged": "records of a batch whose CRC is wrong: `skip` (default, a warning in the "
    "executor's log) or `include` (with `crc_ok` false)",
    "failOnDataLoss": "whether a segment that was deleted before it was read is an error; "
    "default `false`, for a stream `true`",
    "minSplitBytes": "segments are split at index entries into parts of at least this size; "
    "default 64 MiB",
    "maxRowsPerBatch": "rows of an Arrow batch at most; default 65536",
    "maxBytesPerBatch": "bytes of keys and values of an Arrow batch, about; default 16 MiB",
    "maxOffsetsPerTrigger": "a stream reads about so many offsets at once (PySpark 4.2)",
    "maxBytesPerTrigger": "a stream reads about so many bytes at once (PySpark 4.2)",
    "startingOffsets": "a stream begins at `earliest` (default) or `latest`",
}
"""Each option and its meaning."""

_RANGE: Final = re.compile(r"(\d*)-(\d*)")
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Options:
    """The options, parsed; see `OPTIONS`.

    Attributes:
        topic: a pattern of whole names, None for all.
        partitions: ranges of numbers, both ends included; empty for all.
        first_offset, end_offset, from_ms, to_ms: END and -END stand for no limit.
        fail_on_data_loss: None if it is not given.
    """

    path: str
    level: Level = Level.RECORDS
    topic: str | None = None
    partitions: tuple[tuple[int, int], ...] = ()
    first_offset: int = 0
    end_offset: int = END
    from_ms: int = -END
    to_ms: int = END
    columns: tuple[str, ...] = ()
    read_committed: bool = False
    include_damaged: bool = False
    fail_on_data_loss: bool | None = None
    min_split_bytes: int = 64 << 20
    max_rows_per_batch: int = 1 << 16
    max_bytes_per_batch: int = 16 << 20
    max_offsets_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    from_latest: bool = False

    def wants(self, topic: str, partition: int) -> bool:
        """Whether a partition is to be read."""
        if self.level in TOPICS and topic != TOPICS[self.level]:
            return False
        if self.topic is not None and re.fullmatch(self.topic, topic) is None:
            return False
        return not self.partitions or any(a <= partition <= b for a, b in self.partitions)


def parse(given: Mapping[str, str]) -> Options:
    """The options of a reader.

    Raises:
        ValueError: an option is unknown, or has no valid value; the message names it.
    """
    names = {name.lower(): name for name in OPTIONS}
    values = {}
    for name, value in given.items():
        known = names.get(name.lower())
        if known is None:
            raise ValueError(f"kafka-log has no option {name!r}; it has {', '.join(OPTIONS)}")
        values[known] = str(value)
    if not values.get("path"):
        raise ValueError('kafka-log needs a directory: spark.read.format("kafka-log").load(DIR)')
    level = _level(values.get("level", "records"))
    first_offset, end_offset = _offsets(values.get("offsets", "-"))
    from_ms, to_ms = _times(values.get("time", "/"))
    fail = values.get("failOnDataLoss")
    return Options(
        path=values["path"],
        level=level,
        topic=_topics(values.get("topic")),
        partitions=_partitions(values.get("partition", "")),
        first_offset=first_offset,
        end_offset=end_offset,
        from_ms=from_ms,
        to_ms=to_ms,
        columns=_columns(level, values.get("columns", "")),
        read_committed=_one_of(
            values, "isolationLevel", {"read_uncommitted": False, "read_committed": True}
        ),
        include_damaged=_one_of(values, "damaged", {"skip": False, "include": True}),
        fail_on_data_loss=None if fail is None else _one_of(values, "failOnDataLoss", _BOOLEANS),
        min_split_bytes=_size(values, "minSplitBytes") or 64 << 20,
        max_rows_per_batch=_size(values, "maxRowsPerBatch") or 1 << 16,
        max_bytes_per_batch=_size(values, "maxBytesPerBatch") or 16 << 20,
        max_offsets_per_trigger=_size(values, "maxOffsetsPerTrigger"),
        max_bytes_per_trigger=_size(values, "maxBytesPerTrigger"),
        from_latest=_one_of(values, "startingOffsets", {"earliest": False, "latest": True}),
    )


def _level(text: str) -> Level:
    try:
        return Level(text.lower())
    except ValueError:
        raise ValueError(f"level is {text!r}; levels are {', '.join(Level)}") from None


def _topics(text: str | None) -> str | None:
    if text is None:
        return None
    each = (re.escape(name.strip()).replace(r"\*", ".*") for name in text.split(","))
    return "|".join(each)


def _partitions(text: str) -> tuple[tuple[int, int], ...]:
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        first, dash, last = part.partition("-")
        try:
            found.append((int(first), int(last) if dash else int(first)))
        except ValueError:
            raise ValueError(f"partition is {text!r}, not such as 0,4-7") from None
    return tuple(found)


def _offsets(text: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"offsets is {text!r}, not FIRST-END")
    return int(found[1] or 0), int(found[2] or END)


def _times(text: str) -> tuple[int, int]:
    first, slash, end = text.partition("/")
    if not slash:
        raise ValueError(f"time is {text!r}, not FROM/TO")
    return _ms(first.strip(), -END), _ms(end.strip(), END)


def _ms(text: str, missing: int) -> int:
    if not text:
        return missing
    if text.lstrip("-").isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"time has {text!r}, neither ISO 8601 nor ms since 1970") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _columns(level: Level, text: str) -> tuple[str, ...]:
    chosen = tuple(filter(None, (each.strip() for each in text.split(","))))
    for name in chosen:
        if name not in COLUMNS[level]:
            raise ValueError(
                f"level {level} has no column {name!r}; it has {', '.join(COLUMNS[level])}"
            )
    return chosen


def _one_of(values: Mapping[str, str], name: str, choices: Mapping[str, bool]) -> bool:
    text = values.get(name)
    if text is None:
        return next(iter(choices.values())) if name != "failOnDataLoss" else False
    if text.lower() not in choices:
        raise ValueError(f"{name} is {text!r}, not {' or '.join(choices)}")
    return choices[text.lower()]


def _size(values: Mapping[str, str], name: str) -> int | None:
    text = values.get(name)
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"{name} is {text!r}, not a positive number")
    return int(text)
