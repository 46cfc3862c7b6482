"""Offsets in the progress of a streaming query, of Spark's Kafka source and of `kafka-log`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .positions import TOPIC_IDS


# Any: a part of the progress, which Spark has as JSON, or as a text of it
def offsets_in(content: Any) -> dict[str, dict[int, int]]:
    """The offsets by topic and partition; empty for another source."""
    try:
        decoded = json.loads(content) if isinstance(content, str) else content
    except ValueError:
        return {}
    found: dict[str, dict[int, int]] = {}
    if not isinstance(decoded, dict):
        return {}
    for name, value in decoded.items():
        topic, dash, number = str(name).rpartition("-")
        if isinstance(value, int) and dash and number.isdigit():  # kafka-log
            found.setdefault(topic, {})[int(number)] = value
        elif isinstance(value, dict) and name != TOPIC_IDS:
            if not all(str(number).isdigit() for number in value):
                return {}
            found[name] = {int(number): int(offset) for number, offset in value.items()}
    return found


def lag(progress: Mapping[str, Any] | None) -> dict[str, float]:  # Any: as above
    """How far a query is behind its logs, by the names of the metrics of Spark's Kafka source.

    Args:
        progress: `query.lastProgress`, or `event.progress` of a listener.
    """
    behind = []
    for source in () if progress is None else progress["sources"]:
        end, latest = offsets_in(source["endOffset"]), offsets_in(source["latestOffset"])
        behind += [
            max(0, offset - end.get(topic, {}).get(partition, 0))
            for topic, partitions in latest.items()
            for partition, offset in partitions.items()
        ]
    return {
        "minOffsetsBehindLatest": min(behind, default=0),
        "maxOffsetsBehindLatest": max(behind, default=0),
        "avgOffsetsBehindLatest": sum(behind) / len(behind) if behind else 0,
    }
