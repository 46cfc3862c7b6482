"""`kafka-share-consumer-perf-test`: how many records a second a share group reads.

As ShareConsumerPerformance. Its --threads are members of the group, which read in turn here. Each
record is accepted, with the next read or at the end.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from ...client.cluster_client import Client
from ...client.share_reader import ShareReader
from ..options import Options, WrongOptions, has, require
from ..texts import line
from ..tool import Tool, print_message_first
from .perf_consumers import check_perf_options, perf_options, perf_settings, warn_of_timeout
from .rates import MB, print_metrics, rate, shown_date

_POLL_MS: Final = 100
_HEADS: Final = (
    *("start.time", "end.time", "data.consumed.in.MB", "MB.sec", "nMsg.sec"),
    *("data.consumed.in.nMsg", "fetch.time.ms"),
)


def options() -> Options:
    """The options of the tool."""
    made = perf_options(
        "kafka-share-consumer-perf-test",
        "This tool is used to verify the share consumer performance.",
    )
    made.value("--group", "the share group", default="perf-share-consumer")
    made.value("--threads", "how many members read", number=True, default=1)
    made.value("--fetch-size", "accepted", number=True)
    made.flag("--show-detailed-stats", "a line for each interval of a member")
    made.flag("--show-consumer-stats", "a line for each member at the end")
    return made


def _check(given: argparse.Namespace) -> None:
    """Raise WrongOptions or ValueError unless the options agree."""
    require(given, "topic", "bootstrap-server")
    if sum(has(given, name) for name in ("messages", "num-records")) != 1:
        raise WrongOptions(
            "Exactly one of the following arguments is required: [messages], [num-records]"
        )
    check_perf_options(given, _HEADS)
    if given.threads < 1:
        raise ValueError(f"--threads {given.threads} must be greater than 0")


def _read_settings(given: argparse.Namespace) -> dict[str, str]:
    given.client_settings = perf_settings(given)
    given.client_settings.setdefault("client.id", "perf-share-consumer-client")
    return dict(given.client_settings)


class _Member:
    """A member of the group, and what it has read.

    Args:
        number: of the member, from 1.
    """

    def __init__(self, reader: ShareReader, number: int) -> None:
        self.reader = reader
        self.number = number
        self.records = self.bytes = 0
        self._told_s = time.time()
        self._told = (0, 0)

    def read(self, max_wait_ms: int) -> bool:
        """Read once; whether there was a record."""
        found = self.reader.read(max_wait_ms=max_wait_ms)
        for record in found:
            self.reader.acknowledge(record)
            self.bytes += len(record.key or b"") + len(record.value or b"")
        self.records += len(found)
        return bool(found)

    def print_interval(self, given: argparse.Namespace) -> None:
        """The line of --show-detailed-stats, if its interval has passed."""
        now_s = time.time()
        took_s = now_s - self._told_s
        if took_s * 1000 < given.reporting_interval:
            return
        size_bytes, records = self.bytes - self._told[0], self.records - self._told[1]
        cells = (
            *(shown_date(each, given.date_format) for each in (self._told_s, now_s)),
            *(f"{self.bytes / MB:.4f}", rate(size_bytes / MB, took_s), rate(records, took_s)),
            *(str(self.records), str(round(took_s * 1000))),
        )
        line(f"{', '.join(cells)} for share consumer {self.number}")
        self._told_s, self._told = now_s, (self.bytes, self.records)


def _consume(client: Client, given: argparse.Namespace) -> None:
    started_s = time.time()
    with ExitStack() as at_end:
        members = [
            _Member(at_end.enter_context(ShareReader(client, given.group, given.topic)), number)
            for number in range(1, given.threads + 1)
        ]
        _read(members, given)
        ended_s = time.time()
    times_s = started_s, ended_s
    if given.show_consumer_stats:
        for each in members:
            line(
                f"Share consumer {each.number} having client id {_client_id(each, given)}"
                f" consumption metrics- {_total(each.bytes, each.records, times_s, given)}"
            )
    size_bytes, records = sum(each.bytes for each in members), sum(e.records for e in members)
    if records < given.num_records:
        warn_of_timeout(given)
    line(_total(size_bytes, records, times_s, given))
    if given.print_metrics:
        for each in members:
            group = "consumer-share-fetch-manager-metrics"
            print_metrics(group, _client_id(each, given), each.bytes, each.records)


def _client_id(member: _Member, given: argparse.Namespace) -> str:
    """The name of a member's client; several have their number behind it."""
    name: str = given.client_settings["client.id"]
    return name if given.threads == 1 else f"{name}{member.number}"


def _read(members: Sequence[_Member], given: argparse.Namespace) -> None:
    """Read until there are enough records, or --timeout passes without one."""
    wait_ms = max(1, _POLL_MS // len(members))
    last_s = time.monotonic()
    while sum(each.records for each in members) < given.num_records:
        for each in members:
            if each.read(wait_ms):
                last_s = time.monotonic()
                if given.show_detailed_stats:
                    each.print_interval(given)
        if (time.monotonic() - last_s) * 1000 > given.timeout:
            return


def _total(
    size_bytes: int, records: int, times_s: tuple[float, float], given: argparse.Namespace
) -> str:
    """The cells of a line at the end; the times are of the clock on the wall."""
    took_s = times_s[1] - times_s[0]
    cells = (
        *(shown_date(each, given.date_format) for each in times_s),
        *(f"{size_bytes / MB:.4f}", rate(size_bytes / MB, took_s), rate(records, took_s)),
        *(str(records), str(round(took_s * 1000))),
    )
    return ", ".join(cells)


TOOL: Final = Tool(
    options,
    _consume,
    "metadata",
    check=_check,
    settings=_read_settings,
    client="Consumer",
    print_failure=print_message_first,
)
