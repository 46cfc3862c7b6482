"""The offsets that --reset-offsets of share groups and Streams groups computes and prints.

(GroupOffsetsResetter; `offset_resets.py` is of consumer groups, whose tool differs in small ways.)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...client.admin import offsets as admin_offsets
from ...client.admin.groups import Place
from ...client.cluster_client import Client, check
from ...protocol.errors import Code
from ..session import Failure, exception_name
from ..texts import cell, line, out
from .offset_resets import (
    duration_ms_of,
    offsets_at,
    offsets_at_time,
    offsets_in_file,
    time_ms_of,
    within_logs,
)

TARGETS: Final = (
    *("to-offset", "to-datetime", "to-earliest", "to-latest", "to-current", "from-file"),
)
"""The options that say where to, of both tools."""
NOT_SHARE: Final = ("by-duration", "shift-by")
"""The further ones of Streams groups."""


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
            if not index.lstrip("-").isdecimal():
                raise ValueError(f"Invalid partition '{index}' specified in topic arg '{text}''")
            places.append((topic, int(index)))
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
