"""Narrows the options of a read by the filters of a query (PySpark 4.1 and newer).

The filters only skip what they exclude as a whole: Spark applies each of them to the rows again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from .options import Options
from .schemas import Level

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

# The columns that bound offsets and times: (from below, from above).
_OFFSETS: Final = {
    Level.BATCHES: ({"base_offset", "last_offset"}, {"base_offset", "last_offset"}),
    Level.TRANSACTIONS: (set[str](), set[str]()),
    Level.DAMAGE: (set[str](), set[str]()),
}
_TIMES: Final = {
    Level.BATCHES: ({"max_timestamp"}, {"first_timestamp"}),
    Level.TRANSACTIONS: (set[str](), set[str]()),
    Level.DAMAGE: (set[str](), set[str]()),
}
# At this level the column `topic` is the one of the committed offset.
_OTHER_TOPIC: Final = {Level.OFFSETS, Level.METADATA}


class PushFilters:
    """Stands for the method `pushFilters` of a reader.

    PySpark refuses a reader that has the method while `spark.sql.python.filterPushdown.enabled` is
    off, and calls it while it is on. A reader cannot ask for that setting, and compares the
    method's function with the one of its base class: this object passes as that one.
    """

    def __init__(
        self, base_method: Callable[..., object], push: Callable[[Sequence[Filter]], None]
    ) -> None:
        self.__func__ = base_method
        self._push = push

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take filters; return all of them, so that Spark applies them, too."""
        self._push(filters)
        return filters


def narrowed(options: Options, filters: Sequence[Filter]) -> Options:
    """The options of a read that skips what the filters exclude."""
    for each in filters:
        options = _narrowed(options, each)
    return options


def _narrowed(options: Options, given: Filter) -> Options:
    column: tuple[str, ...] = getattr(given, "attribute", ())
    if len(column) != 1:
        return options
    value: Any = getattr(given, "value", None)  # Any: a literal of the query
    kind = type(given).__name__
    values: Sequence[Any] = value if kind == "In" else [value]  # Any: as above
    if kind not in _BOUNDS or any(each is None for each in values) or not values:
        return options
    name = column[0]
    if name in ("partition", "topic") and kind in ("EqualTo", "In"):
        return _places(options, name, values)
    below, above = _BOUNDS[kind]
    level = options.level
    lowest, highest = _OFFSETS.get(level, ({"offset"}, {"offset"}))
    if below and name in lowest:
        options = replace(options, first_offset=max(options.first_offset, int(min(values))))
    if above and name in highest:
        options = replace(options, end_offset=min(options.end_offset, int(max(values)) + 1))
    lowest, highest = _TIMES.get(level, ({"timestamp"}, {"timestamp"}))
    if name in lowest | highest and all(isinstance(each, datetime) for each in values):
        ms = [_ms(each) for each in values]
        if below and name in lowest:
            options = replace(options, from_ms=max(options.from_ms, min(ms)))
        if above and name in highest:
            options = replace(options, to_ms=min(options.to_ms, max(ms) + 1))
    return options


# Whether a filter bounds its column from below and from above.
_BOUNDS: Final = {
    "EqualTo": (True, True),
    "In": (True, True),
    "GreaterThan": (True, False),
    "GreaterThanOrEqual": (True, False),
    "LessThan": (False, True),
    "LessThanOrEqual": (False, True),
}


def _places(options: Options, name: str, values: Sequence[Any]) -> Options:  # Any: as above
    if name == "partition":
        numbers = {int(each) for each in values}
        if options.partitions:
            numbers = {n for n in numbers if any(a <= n <= b for a, b in options.partitions)}
        return replace(options, partitions=tuple((n, n) for n in numbers) or ((-1, -1),))
    if options.level in _OTHER_TOPIC:
        return options
    names = [str(each) for each in values]
    if options.topic is not None:
        names = [each for each in names if re.fullmatch(options.topic, each)]
    return replace(options, topic="|".join(re.escape(each) for each in names) or r"(?!)")


def _ms(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)
