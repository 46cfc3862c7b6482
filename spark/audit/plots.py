"""The plots of the audit's page, as SVG: transactions in lanes, latencies, aborts, lags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from ...audit.rows import COMMIT, PartitionSummary, PartitionTransaction

_WIDTH: Final = 960
_LEFT: Final = 190
_LANE: Final = 18
_LANES: Final = 24
_BARS: Final = 400
_BUCKETS: Final = 48
_PARTITIONS: Final = 20
_NAME: Final = 28
_LATENCY_MS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000)


def lanes(transactions: Sequence[PartitionTransaction]) -> str:
    """The latest transactions, one lane for each producer, from first record to marker."""
    with_data = [each for each in transactions if each.first_offset >= 0]
    latest = sorted(with_data, key=_end_ms)[-_BARS:]
    if not latest:
        return _empty("no transactions")
    producers = [pid for pid, _ in Counter(each.producer_id for each in latest).most_common(_LANES)]
    shown = [each for each in latest if each.producer_id in producers]
    first, last = min(each.first_timestamp for each in shown), max(map(_end_ms, shown))
    scale = (_WIDTH - _LEFT - 20) / max(last - first, 1)
    parts = []
    for lane, pid in enumerate(sorted(producers)):
        parts.append(_text(_LEFT - 10, 42 + lane * _LANE, f"producer {pid}", "end"))
        parts.append(_line(_LEFT, 48 + lane * _LANE, _WIDTH - 20))
        for each in shown:
            if each.producer_id != pid:
                continue
            start = _LEFT + (each.first_timestamp - first) * scale
            width = max(2.0, (_end_ms(each) - each.first_timestamp) * scale)
            kind = each.result or "open"
            title = (
                f"{each.topic}-{each.partition}, offsets {each.first_offset} to"
                f" {each.last_data_offset}, epoch {each.producer_epoch}: {kind}"
            )
            parts.append(_bar((start, 32 + lane * _LANE, width, 12), kind, title))
    kinds = ((COMMIT, "committed"), ("abort", "aborted"), ("open", "open"))
    parts.append(_legend(_LEFT, kinds))
    height = 56 + len(producers) * _LANE
    parts.append(_text(_LEFT, height - 4, _moment(first)))
    parts.append(_text(_WIDTH - 20, height - 4, _moment(last), "end"))
    return _svg(height, parts, "Transactions of each producer over time")


def latencies(transactions: Sequence[PartitionTransaction]) -> str:
    """How long transactions wrote, and how long their markers took after the last record."""
    ended = [each for each in transactions if each.first_offset >= 0 and each.marker_offset >= 0]
    if not ended:
        return _empty("no ended transactions")
    writing = Counter(_bucket(each.last_timestamp - each.first_timestamp) for each in ended)
    ending = Counter(_bucket(each.marker_timestamp - each.last_timestamp) for each in ended)
    most = max([*writing.values(), *ending.values()])
    step = (_WIDTH - 60) / (len(_LATENCY_MS) + 1)
    parts = []
    for at in range(len(_LATENCY_MS) + 1):
        left = 40 + at * step
        for nth, (counts, kind, name) in enumerate(
            ((writing, "write", "first to last record"), (ending, "end", "last record to marker"))
        ):
            height = 120 * counts[at] / most
            title = f"{name}: {counts[at]}"
            parts.append(
                _bar((left + nth * step * 0.4, 140 - height, step * 0.36, height), kind, title)
            )
        label = f"<{_duration(_LATENCY_MS[at])}" if at < len(_LATENCY_MS) else "more"
        parts.append(_text(left + step * 0.4, 156, label, "middle"))
    parts.append(_text(40, 12, f"most: {most}"))
    parts.append(
        _legend(640, (("write", "first to last record"), ("end", "last record to marker")))
    )
    return _svg(164, parts, "Durations of the phases of transactions")


def aborts(transactions: Sequence[PartitionTransaction]) -> str:
    """Committed and aborted transactions over time."""
    ended = [each for each in transactions if each.first_offset >= 0 and each.marker_offset >= 0]
    if not ended:
        return _empty("no ended transactions")
    times = [each.marker_timestamp for each in ended]
    first, last = min(times), max(times)
    width = max(1, (last - first) // _BUCKETS + 1)
    counts = Counter(((each.marker_timestamp - first) // width, each.result) for each in ended)
    most = max(counts[at, COMMIT] + counts[at, "abort"] for at, _ in counts)
    step = (_WIDTH - 60) / _BUCKETS
    parts = []
    for at in range(_BUCKETS):
        top = 140.0
        for kind in (COMMIT, "abort"):
            height = 120 * counts[at, kind] / most
            top -= height
            if height:
                title = f"{kind}: {counts[at, kind]}"
                parts.append(_bar((40 + at * step, top, step * 0.85, height), kind, title))
    aborted = sum(number for (_, kind), number in counts.items() if kind == "abort")
    parts.append(_text(40, 12, f"aborted: {aborted / len(ended):.1%}; most in {width} ms: {most}"))
    parts.append(_text(40, 156, _moment(first)))
    parts.append(_text(_WIDTH - 20, 156, _moment(last), "end"))
    parts.append(_legend(720, ((COMMIT, "committed"), ("abort", "aborted"))))
    return _svg(164, parts, "Committed and aborted transactions over time")


def lags(partitions: Sequence[PartitionSummary]) -> str:
    """The partitions whose last stable offset is behind their end."""
    late = [each for each in partitions if each.end_offset > each.last_stable_offset]
    late.sort(key=lambda each: each.last_stable_offset - each.end_offset)
    if not late:
        return _empty("no partition is held back")
    most = late[0].end_offset - late[0].last_stable_offset
    parts = []
    for at, each in enumerate(late[:_PARTITIONS]):
        lag = each.end_offset - each.last_stable_offset
        top = 8 + at * _LANE
        name = f"{each.topic}-{each.partition}"
        parts.append(_text(_LEFT - 10, top + 10, _short(name), "end"))
        width = max(2, (_WIDTH - _LEFT - 120) * lag / most)
        parts.append(_bar((_LEFT, top, width, 12), "open", name))
        parts.append(_text(_LEFT + width + 6, top + 10, f"{lag} records"))
    return _svg(16 + min(len(late), _PARTITIONS) * _LANE, parts, "Records behind open transactions")


def _short(name: str) -> str:
    """The end of a long name, which differs more than its beginning."""
    return name if len(name) <= _NAME else f"...{name[3 - _NAME :]}"


def _end_ms(each: PartitionTransaction) -> int:
    return max(each.marker_timestamp, each.last_timestamp, each.first_timestamp)


def _bucket(duration_ms: int) -> int:
    return sum(duration_ms >= limit for limit in _LATENCY_MS)


def _duration(duration_ms: int) -> str:
    return f"{duration_ms} ms" if duration_ms < 1000 else f"{duration_ms // 1000} s"


def _moment(time_ms: int) -> str:
    try:
        when = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(time_ms)
    return when.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _svg(height: float, parts: Iterable[str], label: str) -> str:
    head = f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}">'
    return head + "".join(parts) + "</svg>"


def _empty(text: str) -> str:
    return f'<p class="none">{escape(text)}</p>'


def _text(left: float, top: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(left: float, top: float, right: float) -> str:
    return f'<line x1="{left}" y1="{top}" x2="{right}" y2="{top}"/>'


_Box = tuple[float, float, float, float]
"""Left, top, width and height."""


def _bar(box: _Box, kind: str, title: str) -> str:
    left, top, width, height = box
    return (
        f'<rect class="{escape(kind)}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}"'
        f' height="{height:.1f}"><title>{escape(title)}</title></rect>'
    )


def _legend(left: float, kinds: Iterable[tuple[str, str]]) -> str:
    parts = []
    for kind, text in kinds:
        parts += [_bar((left, 4, 10, 10), kind, text), _text(left + 14, 13, text)]
        left += 30 + 6.2 * len(text)
    return "".join(parts)
