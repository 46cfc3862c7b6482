"""`kafka-consumer-perf-test`: how many records a second a consumer reads (ConsumerPerformance).

As kafka-console-consumer it does not join a group: --group has the offsets where it begins, and
gets those where it ends.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Final

from ...client.admin import groups as admin_groups
from ...client.admin import offsets as admin_offsets
from ...client.cluster_client import Client
from ...client.record_reader import ReadRecord, RecordReader
from ..options import Options, WrongOptions, has, require
from ..texts import INTERNAL_TOPICS, line, out, topic_pattern
from ..tool import Tool, print_message_first
from .perf_consumers import check_perf_options, perf_options, perf_settings, warn_of_timeout
from .rates import MB, print_metrics, rate, shown_date

_POLL_RECORDS: Final = 500  # max.poll.records
_HEADS: Final = (
    *("data.consumed.in.MB", "MB.sec", "data.consumed.in.nMsg", "nMsg.sec", "rebalance.time.ms"),
    *("fetch.time.ms", "fetch.MB.sec", "fetch.nMsg.sec"),
)


def options() -> Options:
    """The options of the tool."""
    made = perf_options(
        "kafka-consumer-perf-test", "This tool is used to verify the consumer performance."
    )
    made.value("--include", "regular expression of topics")
    made.value("--group", "the group whose offsets are used and committed")
    made.value("--fetch-size", "bytes of a partition in an answer", number=True, default=1 << 20)
    made.flag("--from-latest", "begin at the end without a committed offset")
    made.flag("--show-detailed-stats", "a line for each interval instead of one at the end")
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions or ValueError unless the options agree."""
    require(given, "bootstrap-server")
    for names in (("topic", "include"), ("messages", "num-records")):
        if sum(has(given, name) for name in names) != 1:
            listed = ", ".join(f"[{name}]" for name in names)
            raise WrongOptions(f"Exactly one of the following arguments is required: {listed}")
    first = ("time", "threadId") if given.show_detailed_stats else ("start.time", "end.time")
    check_perf_options(given, (*first, *_HEADS))


class _Counts:
    """What was read, and the times between lines."""

    def __init__(self, given: argparse.Namespace, now_s: float) -> None:
        self.given = given
        self.start_s = self.since_s = now_s
        self.joined_s = 0.0
        self.bytes = self.records = 0
        self._before = (0, 0)

    def print_interval(self, now_s: float) -> None:
        """The line of --show-detailed-stats."""
        took_s = now_s - self.since_s
        size_bytes, records = self.bytes - self._before[0], self.records - self._before[1]
        rates = rate(size_bytes / MB, took_s), rate(records, took_s)
        date = shown_date(time.time(), self.given.date_format)
        out(
            f"{date}, 0, {self.bytes / MB:.4f}, {rates[0]},"
            f" {self.records}, {rates[1]}, 0, {round(took_s * 1000)}, {rates[0]}, {rates[1]}\n"
        )
        self.since_s, self._before = now_s, (self.bytes, self.records)

    def print_total(self, started_s: float, now_s: float) -> None:
        """The line at the end; `started_s` is of the clock on the wall."""
        took_s = now_s - self.start_s
        fetch_s = took_s - self.joined_s
        megabytes = self.bytes / MB
        dates = (shown_date(each, self.given.date_format) for each in (started_s, time.time()))
        cells = (
            *dates,
            *(f"{megabytes:.4f}", rate(megabytes, took_s), str(self.records)),
            *(rate(self.records, took_s), str(round(self.joined_s * 1000))),
            *(str(round(fetch_s * 1000)), rate(megabytes, fetch_s), rate(self.records, fetch_s)),
        )
        line(", ".join(cells))


def _consume(client: Client, given: argparse.Namespace) -> None:
    started_s, counts = time.time(), _Counts(given, time.monotonic())
    interval_s = given.reporting_interval / 1000
    ends: dict[tuple[str, int], int] = {}
    for poll in _polls(client, given, counts):
        counts.records += len(poll)
        for record in poll:
            counts.bytes += len(record.key or b"") + len(record.value or b"")
            ends[record.topic, record.partition] = record.offset + 1
        now_s = time.monotonic()
        if given.show_detailed_stats and now_s - counts.since_s >= interval_s:
            counts.print_interval(now_s)
        if counts.records >= given.num_records:
            break
    else:
        warn_of_timeout(given)
    if given.group and ends:
        admin_groups.commit_offsets(client, given.group, ends)
    if not given.show_detailed_stats:
        counts.print_total(started_s, time.monotonic())
    if given.print_metrics:
        group, client_id = "consumer-fetch-manager-metrics", "perf-consumer-client"
        print_metrics(group, client_id, counts.bytes, counts.records)


def _polls(
    client: Client, given: argparse.Namespace, counts: _Counts
) -> Iterator[list[ReadRecord]]:
    """Records as they come, at most 500 at a time; it ends after --timeout without one."""
    readers: dict[str, RecordReader] = {}
    last_s = time.monotonic()
    while (time.monotonic() - last_s) * 1000 < given.timeout:
        for topic in _topics(client, given):
            if topic not in readers:
                starts = _starts(client, given, topic)
                readers[topic] = RecordReader(client, topic, starts, reset=_reset(given))
                counts.joined_s = time.monotonic() - counts.start_s
        if not readers:
            time.sleep(0.1)
        for reader in readers.values():
            records = reader.read(max_wait_ms=max(10, min(500, given.timeout) // len(readers)))
            for at in range(0, len(records), _POLL_RECORDS):
                yield records[at : at + _POLL_RECORDS]
                last_s = time.monotonic()


def _topics(client: Client, given: argparse.Namespace) -> list[str]:
    found = client.metadata([given.topic] if given.topic else None, may_create=True)
    names = [topic.name for topic in found if topic.partitions]
    if given.topic:
        return names
    pattern = topic_pattern(given.include)
    return [name for name in names if pattern.fullmatch(name) and name not in INTERNAL_TOPICS]


def _reset(given: argparse.Namespace) -> int:
    return admin_offsets.LATEST if given.from_latest else admin_offsets.EARLIEST


def _starts(client: Client, given: argparse.Namespace, topic: str) -> dict[int, int]:
    indexes = client.partitions(topic)
    starts = admin_offsets.partition_offsets(client, topic, dict.fromkeys(indexes, _reset(given)))
    if given.group:
        committed = admin_groups.committed_offsets(client, given.group)
        starts |= {index: at[0] for (name, index), at in committed.items() if name == topic}
    return starts


TOOL: Final = Tool(
    options,
    _consume,
    "metadata",
    check=_check,
    settings=perf_settings,
    client="Consumer",
    print_failure=print_message_first,
)
