"""Keys and values of the records that a test produces, from a DataFrame or from Python's values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PAIR: Final = 2
Text = str | bytes | None


def pairs_of_frame(frame: DataFrame) -> Iterator[tuple[Text, Text]]:
    """The rows of a DataFrame with a column `value`, and optionally `key`.

    Raises:
        TypeError: there is no such column, or it has neither text nor bytes; or KEY, in capital
            letters, which would be left out.
    """
    if near := near_name(frame.columns, ("key", "value")):
        raise TypeError(near)
    if "value" not in frame.columns:
        raise TypeError(f"a column value was expected; columns: {', '.join(frame.columns)}")
    names = [name for name in ("key", "value") if name in frame.columns]
    for name in names:
        kind = frame.schema[name].dataType.simpleString()
        if kind not in ("string", "binary"):
            raise TypeError(f"column {name} is {kind}: cast it to string or binary")
    for row in frame.select(*names).toLocalIterator():
        yield (_text(row["key"]) if "key" in names else None), _text(row["value"])


def near_name(columns: Sequence[str], known: Iterable[str]) -> str:
    """Why a column would be left out although its name is nearly right; empty if none would.

    To Spark, KEY and key are the same column; its Kafka sink leaves KEY out.
    """
    for name in known:
        for each in columns:
            if each.lower() == name and name not in columns:
                return f"column {each} would not be written: its name is {name}, in small letters"
    return ""


def pairs_of(rows: Any) -> Iterator[tuple[Text, Text]]:  # Any: what a test gives, right or wrong
    """The records of values, of pairs of key and value, or of a single text.

    Raises:
        TypeError: a row is none of these.
    """
    if isinstance(rows, str | bytes | bytearray):
        rows = [rows]
    if isinstance(rows, tuple) and len(rows) == _PAIR:
        raise TypeError(
            f"{rows!r}: a list was expected, of a pair: [(key, value)], or of two values"
        )
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise TypeError(f"{rows!r}: values, or pairs of key and value, were expected")
    for each in rows:
        key, value = each if isinstance(each, tuple) and len(each) == _PAIR else (None, each)
        try:
            yield _text(key), _text(value)
        except TypeError:
            raise TypeError(
                f"{each!r}: a value, or a pair of key and value, was expected: text, bytes or None"
            ) from None


def _text(content: Any) -> Text:  # Any: as above
    if content is None or isinstance(content, str | bytes):
        return content
    if isinstance(content, bytearray):  # what Spark has for bytes
        return bytes(content)
    raise TypeError(f"{content!r}: text, bytes or None was expected")
