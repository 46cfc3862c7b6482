"""The offsets that --reset-offsets of all kinds of groups computes and prints (OffsetsUtils)."""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ...broker.settings.durations import duration_ms
from ...client.admin import offsets as admin_offsets
from ...client.admin.groups import Place
from ...client.cluster_client import Client, check
from ...protocol.errors import Code
from ...protocol.java_integers import number_in
from ..java_numbers import java_int, java_long
from ..session import Failure, exception_name
from ..texts import cell, error_line, line, out

TARGETS: Final = (
    *("to-offset", "to-datetime", "to-earliest", "to-latest", "to-current", "from-file"),
)
"""The options that say where to, of all tools."""
NOT_SHARE: Final = ("by-duration", "shift-by")
"""The further ones of consumer groups and Streams groups."""


def named_partitions(client: Client, texts: Sequence[str]) -> list[Place]:
    """The partitions of texts TOPIC and TOPIC:0,1.

    Raises:
        ValueError: a text has another form. ErrorAnswer: a topic does not exist.
    """
    places: list[Place] = []
    whole = []
    for text in texts:
        topic, colon, indexes = text.partition(":")
        if not colon:
            whole.append(text)
            continue
        for index in indexes.split(","):
            number = number_in(index)
            if number is None:
                raise ValueError(f"Invalid partition '{index}' specified in topic arg '{text}''")
            places.append((topic, number))
    for found in client.metadata(whole) if whole else ():
        check(found.error_code, found.name)
        places += sorted((found.name, each.partition_index) for each in found.partitions)
    return places


def check_partitions(client: Client, places: Sequence[Place]) -> None:
    """Raise Failure unless all partitions exist, ErrorAnswer unless their topics do."""
    known: set[Place] = set()
    for found in client.metadata(sorted({topic for topic, _ in places})) if places else ():
        check(found.error_code, found.name)
        known |= {(found.name, each.partition_index) for each in found.partitions}
    if missing := [f"{topic}-{index}" for topic, index in places if (topic, index) not in known]:
        raise Failure(
            f'The partitions "{",".join(missing)}" do not exist',
            exception_name(Code.UNKNOWN_TOPIC_OR_PARTITION),
        )


def planned_offsets(
    client: Client,
    group_id: str,
    places: list[Place],
    given: argparse.Namespace,
    current: Callable[[], Mapping[Place, int]],
) -> dict[Place, int]:
    """The new offset of each partition, never before its start or behind its end.

    Args:
        given: with the options of TARGETS; those of another tool may be missing.
        current: the group's offsets, asked for if they are needed.

    Raises:
        ValueError: a partition that --shift-by moves has no offset, or a time is none.
    """
    if given.to_offset is not None:
        return within_logs(client, dict.fromkeys(places, given.to_offset))
    if given.to_earliest:
        return offsets_at(client, places, admin_offsets.EARLIEST)
    if given.to_latest:
        return offsets_at(client, places, admin_offsets.LATEST)
    if getattr(given, "shift_by", None) is not None:
        return within_logs(client, _shifted(places, current(), given.shift_by))
    if given.to_datetime is not None:
        return offsets_at_time(client, places, time_ms_of(given.to_datetime))
    if getattr(given, "by_duration", None) is not None:
        ago_ms = duration_ms_of(given.by_duration)
        return offsets_at_time(client, places, time.time_ns() // 1_000_000 - ago_ms)
    if given.from_file is not None:
        if found := offsets_in_file(group_id, given.from_file):
            return within_logs(client, found)
        line(f"\nError: No reset plan for group {group_id} found.")
        return {}
    known = current()
    ends = offsets_at(client, [each for each in places if each not in known], admin_offsets.LATEST)
    return {place: known[place] if place in known else ends[place] for place in places}


def _shifted(places: Sequence[Place], current: Mapping[Place, int], by: int) -> dict[Place, int]:
    for topic, index in places:
        if (topic, index) not in current:
            raise ValueError(
                f"Cannot shift offset for partition {topic}-{index} since there is no current"
                " committed offset"
            )
    return {place: current[place] + by for place in places}


def print_plan(
    plan: Mapping[str, Mapping[Place, int]], *, least: int, grows: bool, last: int
) -> None:
    """Print the new offsets by group as a table.

    Args:
        least: the width of the columns of groups and topics.
        grows: they are as wide as their widest cell.
        last: the width of the column of offsets.
    """
    rows = [
        (group_id, topic, str(index), str(offset))
        for group_id, offsets in plan.items()
        for (topic, index), offset in offsets.items()
    ]
    widths = [max([least, *(len(row[at]) for row in rows if grows)]) for at in (0, 1)]
    heads = [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")] if plan else []
    for group, topic, index, offset in (*heads, *rows):
        cells = (group.ljust(widths[0]), topic.ljust(widths[1]), index.ljust(10))
        out("\n" + cell(" ".join((*cells, offset.ljust(last)))))
    line("")


def print_csv(plan: Mapping[str, Mapping[Place, int]], *, with_group: bool) -> None:
    """Print the new offsets as lines that --from-file reads."""
    for group_id, offsets in plan.items():
        for (topic, index), offset in offsets.items():
            cells = [*([group_id] if with_group else []), topic, str(index), str(offset)]
            line(",".join(f'"{each}"' if "," in each else each for each in cells))
    line("")


def offsets_at(client: Client, places: list[Place], time_ms: int) -> dict[Place, int]:
    found = admin_offsets.list_offsets(client, dict.fromkeys(places, time_ms))
    return {place: each.offset for place, each in found.items()}


def offsets_at_time(client: Client, places: list[Place], time_ms: int) -> dict[Place, int]:
    found, ends = (
        offsets_at(client, places, time_ms),
        offsets_at(client, places, admin_offsets.LATEST),
    )
    for topic, index in places:
        if found[topic, index] < 0:
            line(
                f"\nWarn: Partition {index} from topic {topic} is empty. Falling back to latest"
                " known offset."
            )
    return {place: found[place] if found[place] >= 0 else ends[place] for place in places}


def bounded(client: Client, wanted: Mapping[Place, int]) -> Iterator[tuple[Place, int, str]]:
    """Each offset, or the start or the end of its log, and what is wrong with the offset."""
    places = list(wanted)
    starts = offsets_at(client, places, admin_offsets.EARLIEST)
    ends = offsets_at(client, places, admin_offsets.LATEST)
    for place, offset in wanted.items():
        bound = min(max(offset, starts[place]), ends[place])
        how = "higher than latest" if offset > bound else "lower than earliest"
        yield place, bound, "" if offset == bound else f"New offset ({offset}) is {how} offset"


def within_logs(client: Client, wanted: Mapping[Place, int]) -> dict[Place, int]:
    result = {}
    for place, offset, wrong in bounded(client, wanted):
        if wrong:
            at = f"for topic partition {place[0]}-{place[1]}"
            error_line(f"WARN {wrong} {at}. Value will be set to {offset}")
        result[place] = offset
    return result


def offsets_in_file(group_id: str, path: str) -> dict[Place, int]:
    """The offsets in a CSV file: topic, partition, offset, with or without the group first."""
    found = {}
    try:
        text = Path(path).read_text()
    except OSError as trouble:
        raise ValueError(f"{path}: {trouble.strerror}") from None
    for row in csv.reader(text.splitlines()):
        if not row or (len(row) == 4 and row[0] != group_id):
            continue
        topic, index, offset = row[-3:]
        found[topic, java_int(index.strip())] = java_long(offset.strip())
    return found


def time_ms_of(text: str) -> int:
    """Unix time of YYYY-MM-DDThh:mm:ss.sss with an optional zone; without one: UTC.

    Raises:
        ValueError: it has another form.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'Error parsing datetime: Unparseable date: "{text}"') from None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return int(when.timestamp() * 1000)


def duration_ms_of(text: str) -> int:
    found = duration_ms(text)
    if found is None:
        raise ValueError(f"Text cannot be parsed to a Duration: {text}")
    return found
