"""The options of the data source `kafka-log`, checked before anything is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .positions import EARLIEST
from .schemas import COLUMNS, TOPICS, Level

END: Final = 1 << 62
"""Behind every offset and every time."""

OPTIONS: Final[Mapping[str, str]] = {
    "path": "the log directory, the argument of `load`; several separated by commas",
    "level": "the kind of rows: `records` (default) or another level",
    "topic": "names of topics, separated by commas, or patterns with `*`; a name that is not "
    "there is an error, a pattern that matches none a warning",
    "partition": "numbers of partitions and ranges, such as `0,4-7`; one that no topic has is a "
    "warning",
    "offsets": "offsets FIRST-END, END excluded; either may be left out",
    "time": "times FROM/TO, TO excluded; ISO 8601 in UTC, or ms since 1970; either may be left out",
    "columns": "names of columns, separated by commas: only they are made",
    "isolationLevel": "`read_uncommitted` (default), or `read_committed`: no aborted, open or "
    "control records",
    "damaged": "records of a batch whose CRC is wrong: `skip` (default, a warning in the "
    "executor's log) or `include` (with `crc_ok` false)",
    "failOnDataLoss": "whether records that were deleted before they were read are an error; "
    "default `false`, for a stream `true`",
    "minSplitBytes": "segments are split at index entries into parts of at least this size; "
    "default 64 MiB",
    "maxRowsPerBatch": "rows of an Arrow batch at most; default 65536",
    "maxBytesPerBatch": "bytes of keys and values of an Arrow batch, about; default 16 MiB",
    "maxOffsetsPerTrigger": "a stream reads about so many offsets at once (PySpark 4.2)",
    "maxBytesPerTrigger": "a stream reads about so many bytes at once (PySpark 4.2)",
    "startingOffsets": "`earliest` (default), for a stream also `latest`, or an offset for each "
    'partition: `{"orders": {"0": 23, "1": -2}}`, -2 for the beginning, -1 for the end',
    "endingOffsets": "where a batch read ends: `latest` (default), or JSON as above",
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
        topic_names: those of `topic` that have no `*`.
        topic_patterns: those that have one, as given.
        fail_on_data_loss: None if it is not given.
        starting_offsets, ending_offsets: by "TOPIC-PARTITION"; None if they are not given.
    """

    path: str
    level: Level = Level.RECORDS
    topic: str | None = None
    topic_names: tuple[str, ...] = ()
    topic_patterns: tuple[str, ...] = ()
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
    starting_offsets: Mapping[str, int] | None = None
    ending_offsets: Mapping[str, int] | None = None

    def wants(self, topic: str, partition: int) -> bool:
        """Whether a partition is to be read."""
        if not self.wants_topic(topic):
            return False
        return not self.partitions or any(a <= partition <= b for a, b in self.partitions)

    def wants_topic(self, topic: str) -> bool:
        """Whether partitions of a topic are to be read."""
        if self.level in TOPICS and topic != TOPICS[self.level]:
            return False
        return self.topic is None or re.fullmatch(self.topic, topic) is not None


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
        if not str(value).strip() and known != "path":
            raise ValueError(f"{known} is empty: leave the option out, or give it a value")
        values[known] = str(value)
    if not values.get("path"):
        raise ValueError('kafka-log needs a directory: spark.read.format("kafka-log").load(DIR)')
    level = _level(values.get("level", "records"))
    topic, topic_names, topic_patterns = _topics(level, values.get("topic"))
    first_offset, end_offset = _offsets(values.get("offsets", "-"))
    from_ms, to_ms = _times(values.get("time", "/"))
    fail = values.get("failOnDataLoss")
    return Options(
        path=values["path"],
        level=level,
        topic=topic,
        topic_names=topic_names,
        topic_patterns=topic_patterns,
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
        from_latest=values.get("startingOffsets", "").strip().lower() == "latest",
        starting_offsets=_positions(level, values, "startingOffsets"),
        ending_offsets=_positions(level, values, "endingOffsets"),
    )


def _level(text: str) -> Level:
    try:
        return Level(text.lower())
    except ValueError:
        raise ValueError(f"level is {text!r}; levels are {', '.join(Level)}") from None


def _topics(level: Level, text: str | None) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """A pattern of whole names; the names in it; the patterns in it."""
    if text is None:
        return None, (), ()
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError(f"topic is {text!r}, with an empty name")
    pattern = "|".join(re.escape(name).replace(r"\*", ".*") for name in names)
    only = TOPICS.get(level)
    if only is not None and re.fullmatch(pattern, only) is None:
        raise ValueError(f"level {level} reads {only} alone, and topic is {text!r}")
    patterns = tuple(name for name in names if "*" in name)
    return pattern, tuple(name for name in names if name not in patterns), patterns


def _partitions(text: str) -> tuple[tuple[int, int], ...]:
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        first, dash, last = part.partition("-")
        try:
            range_ = int(first), int(last) if dash else int(first)
        except ValueError:
            raise ValueError(f"partition is {text!r}, not such as 0,4-7") from None
        if range_[0] > range_[1]:
            raise ValueError(f"partition is {text!r}: {part} ends before it begins")
        found.append(range_)
    return tuple(found)


def _offsets(text: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"offsets is {text!r}, not FIRST-END")
    first, end = int(found[1] or 0), int(found[2] or END)
    if first > end:
        raise ValueError(f"offsets is {text!r}: it ends before it begins")
    return first, end


def _positions(level: Level, values: Mapping[str, str], name: str) -> Mapping[str, int] | None:
    text = values.get(name)
    if text is None or text.strip().lower() in ("earliest", "latest"):
        if name == "endingOffsets" and text is not None and "earliest" in text.lower():
            raise ValueError("endingOffsets is earliest: a batch read would have no rows")
        return None
    if level in (Level.TRANSACTIONS, Level.DAMAGE):
        raise ValueError(f"level {level} has no {name}: it is read from its beginning to its end")
    try:
        found = {
            f"{topic}-{int(partition)}": int(offset)
            for topic, offsets in json.loads(text).items()
            for partition, offset in offsets.items()
        }
    except (ValueError, AttributeError, TypeError):
        found = {"": EARLIEST - 1}
    if not found or min(found.values()) < EARLIEST:
        raise ValueError(
            f"{name} is {text!r}, not earliest, latest or JSON such as"
            ' {"orders": {"0": 23, "1": -2}}'
        )
    return found


def _times(text: str) -> tuple[int, int]:
    first, slash, end = text.partition("/")
    if not slash:
        raise ValueError(f"time is {text!r}, not FROM/TO")
    from_ms, to_ms = _ms(first.strip(), -END), _ms(end.strip(), END)
    if from_ms > to_ms:
        raise ValueError(f"time is {text!r}: it ends before it begins")
    return from_ms, to_ms


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
