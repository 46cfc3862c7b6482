"""The parts that the words of requests and answers share: partitions, sizes, members, lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from .events import Fields
from .messages import Names, topic_name

_SHOWN: Final = 3
_UUID: Final = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_BYTES: Final = re.compile(r"<(\d+) bytes>")


def short(text: object) -> str:
    """A text whose UUIDs are cut to their first digits."""
    return _UUID.sub(r"\1", str(text))


def structs_in(values: object) -> list[Fields]:
    """The structs of a list; what was left out of it is a text."""
    return (
        [each for each in values if isinstance(each, Mapping)] if isinstance(values, list) else []
    )


def few(found: Iterable[str], most: int = _SHOWN) -> str:
    """The first of some texts, and the number of the others."""
    texts = list(found)
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def parts(
    topics: object, names: Names, of_partition: Callable[[Fields], str], field: str = "partitions"
) -> Iterator[str]:
    """TOPIC-PARTITION and a text of each partition."""
    for topic in structs_in(topics):
        for each in structs_in(topic.get(field)):
            index = each.get("partition_index", each.get("partition", each.get("index", "?")))
            yield f"{topic_name(topic, names)}-{index}{of_partition(each)}"


def indexes(topics: object, names: Names, field: str = "partitions") -> Iterator[str]:
    """TOPIC-PARTITION of lists that have numbers of partitions."""
    for topic in structs_in(topics):
        for index in topic.get(field) or ():
            yield f"{topic_name(topic, names)}-{index}"


def size(records: object) -> int:
    """The number of bytes of records, for which a trace has a text; 0 for none."""
    found = _BYTES.fullmatch(str(records))
    return int(found[1]) if found else 0


def in_bytes(number: int) -> str:
    """A number of bytes with its unit."""
    for unit, of_unit in (("MB", 1_000_000), ("kB", 1000)):
        if number >= of_unit:
            return f"{number / of_unit:.1f} {unit}"
    return f"{number} B"


def span(span_ms: int) -> str:
    """A span of time in the largest unit of which it has one: `45 s`, `1.5 min`."""
    for unit, of_unit in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if span_ms >= of_unit:
            return f"{round(span_ms / of_unit, 1):g} {unit}"
    return f"{span_ms} ms"


def producer(fields: Fields) -> str:
    """The producer id and epoch of a message; empty for none."""
    producer_id = fields.get("producer_id")
    if producer_id in (None, -1):
        return ""
    return f"producer {producer_id} epoch {fields.get('producer_epoch')}"


def member(fields: Fields) -> str:
    """The member that a message names, with its group.instance.id; empty for none."""
    instance = fields.get("group_instance_id")
    found = short(fields.get("member_id") or ""), f"instance {instance}" if instance else ""
    return " ".join(each for each in found if each)


def count(number: int, one: str) -> str:
    """A number of things: `1 member`, `2 members`."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
