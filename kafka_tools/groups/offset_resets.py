"""The offsets that `kafka-consumer-groups --reset-offsets` computes, prints and commits."""

from __future__ import annotations

import argparse
import csv as csv_files
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ...client.admin import groups as admin_groups
from ...client.admin import offsets as admin_offsets
from ...client.admin.groups import Place
from ...client.cluster_client import Client, ErrorAnswer
from ...protocol.errors import Code
from ..texts import error_line, line, out

TARGETS: Final = (
    "to-offset",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "shift-by",
    "from-file",
    "to-current",
)
"""The options that say where to."""
_DURATION: Final = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)


def reset(client: Client, group_id: str, given: argparse.Namespace) -> dict[Place, int]:
    """The new offsets of a group, committed with --execute.

    Raises:
        ValueError: the options do not agree. ErrorAnswer: the coordinator refuses.
    """
    try:
        state = admin_groups.describe_group(client, group_id).state
    except ErrorAnswer as refused:
        if refused.code != Code.GROUP_ID_NOT_FOUND:
            raise
        state = "Dead"
    if state not in ("Empty", "Dead"):
        line(
            f"\nError: Assignments can only be reset if the group '{group_id}' is inactive, but the"
            f" current state is {state}."
        )
        return {}
    places = _places(client, group_id, given)
    if not places:
        return {}
    offsets = _targets(client, group_id, places, given)
    if given.execute:
        admin_groups.commit_offsets(client, group_id, offsets)
    elif not given.dry_run and not given.export:
        error_line(
            "WARN: No action will be performed as the --execute option is missing. In version 5.0,"
            " this command will require either --dry-run or --execute to be specified. You should"
            " add the --dry-run option explicitly if you are scripting this command and want to"
            " keep the current default behavior without prompting."
        )
    return offsets


def print_reset(every: Mapping[str, Mapping[Place, int]], *, csv: bool, groups: int) -> None:
    """Print new offsets by group, as a table or as CSV (with the group if there are several)."""
    rows = [
        (group_id, topic, str(index), str(offset))
        for group_id, offsets in every.items()
        for (topic, index), offset in offsets.items()
    ]
    if csv:
        for row in rows:
            quoted = [f'"{cell}"' if "," in cell else cell for cell in row]
            line(",".join(quoted if groups != 1 else quoted[1:]))
        line("")
        return
    group_width = max([15, *(len(row[0]) for row in rows)])
    topic_width = max([15, *(len(row[1]) for row in rows)])
    for row in (("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), *rows):
        cells = (row[0].ljust(group_width), row[1].ljust(topic_width), f"{row[2]:<10}")
        out("\n" + " ".join(cells) + f" {row[3]}")
    line("")


def _places(client: Client, group_id: str, given: argparse.Namespace) -> list[Place]:
    """The partitions that the options name."""
    if given.all_topics:
        return sorted(admin_groups.committed_offsets(client, group_id))
    if given.topic:
        places = []
        for text in given.topic:
            topic, _, indexes = text.partition(":")
            if indexes:
                places += [(topic, int(index)) for index in indexes.split(",")]
                continue
            (found,) = client.metadata([topic])
            if found.error_code:
                raise ErrorAnswer(found.error_code, topic)
            places += sorted((topic, each.partition_index) for each in found.partitions)
        return places
    if given.from_file is not None:
        return list(offsets_in_file(group_id, given.from_file))
    raise ValueError("One of the reset scopes should be defined: --all-topics, --topic.")


def _targets(
    client: Client, group_id: str, places: list[Place], given: argparse.Namespace
) -> dict[Place, int]:
    """The new offset of each partition, never before its start or behind its end."""
    if given.to_earliest:
        return offsets_at(client, places, admin_offsets.EARLIEST)
    if given.to_latest:
        return offsets_at(client, places, admin_offsets.LATEST)
    if given.to_offset is not None:
        return within_logs(client, dict.fromkeys(places, given.to_offset))
    if given.to_datetime is not None:
        return offsets_at_time(client, places, time_ms_of(given.to_datetime))
    if given.by_duration is not None:
        ago_ms = duration_ms_of(given.by_duration)
        return offsets_at_time(client, places, time.time_ns() // 1_000_000 - ago_ms)
    if given.from_file is not None:
        found = offsets_in_file(group_id, given.from_file)
        return within_logs(client, {place: found[place] for place in places})
    committed = admin_groups.committed_offsets(client, group_id)
    if given.shift_by is not None:
        for topic, index in places:
            if (topic, index) not in committed:
                raise ValueError(
                    f"Cannot shift offset for partition {topic}-{index} since there is no current"
                    " committed offset"
                )
        return within_logs(client, {each: committed[each][0] + given.shift_by for each in places})
    if given.to_current:
        ends = offsets_at(client, places, admin_offsets.LATEST)
        return {each: committed[each][0] if each in committed else ends[each] for each in places}
    raise ValueError(
        "Option '[reset-offsets]' requires one of the following scenarios:"
        f" {', '.join(f'[{name}]' for name in TARGETS)}"
    )


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


def within_logs(client: Client, wanted: Mapping[Place, int]) -> dict[Place, int]:
    places = list(wanted)
    starts = offsets_at(client, places, admin_offsets.EARLIEST)
    ends = offsets_at(client, places, admin_offsets.LATEST)
    result = {}
    for place, offset in wanted.items():
        name = f"{place[0]}-{place[1]}"
        if offset > ends[place]:
            error_line(
                f"WARN New offset ({offset}) is higher than latest offset for topic partition"
                f" {name}. Value will be set to {ends[place]}"
            )
        elif offset < starts[place]:
            error_line(
                f"WARN New offset ({offset}) is lower than earliest offset for topic partition"
                f" {name}. Value will be set to {starts[place]}"
            )
        result[place] = min(max(offset, starts[place]), ends[place])
    return result


def offsets_in_file(group_id: str, path: str) -> dict[Place, int]:
    """The offsets in a CSV file: topic, partition, offset, with or without the group first."""
    found = {}
    try:
        text = Path(path).read_text()
    except OSError as trouble:
        raise ValueError(f"{path}: {trouble.strerror}") from None
    for row in csv_files.reader(text.splitlines()):
        if not row or (len(row) == 4 and row[0] != group_id):
            continue
        topic, index, offset = row[-3:]
        found[topic, int(index)] = int(offset)
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
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"Text cannot be parsed to a Duration: {text}")
    days, hours, minutes, seconds = (float(each or 0) for each in match.groups())
    return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
