"""Runs an exhibit with one version of its client: a broker, the lab, the program, the check."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ...testing.broker import Ottla
from ...trace.events import Event
from ...trace.view import lines_of
from ..program import Program
from .exhibit import Exhibit, Verdict, neither
from .install import launch
from .replay_trial import GROUP, TOPIC, NotSaid, ReplayTrial
from .seen import Seen

_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}


class Replay(NamedTuple):
    """An exhibit as it was run.

    Attributes:
        version: of the client.
        verdict: of the check.
        lines: of the trace that show it, as `ottla trace show` prints them.
        page: of the trace; None if it was not wanted.
    """

    version: str
    verdict: Verdict
    lines: tuple[str, ...]
    took_s: float
    page: Path | None = None


def replay(
    exhibit: Exhibit, version: str, *, timeout_s: float = 60.0, traces: Path | None = None,
    pages: Path | None = None,
) -> Replay:  # fmt: skip
    """Run an exhibit.

    Args:
        timeout_s: of the program.
        traces, pages: folders that get the trace, and the page of it; None: not wanted.

    Raises:
        NotInstalled, NoProgram, BrokerFailed: it cannot run.
        OSError: the trace or the page cannot be written.
    """
    command, environment = launch(exhibit.client, version, exhibit.program)
    began_s = time.monotonic()
    with (
        TemporaryDirectory(prefix="ottla-museum-") as scratch,
        ReplayTrial(
            Ottla(nodes=exhibit.nodes, settings={**_SETTINGS, **exhibit.settings}),
            Path(scratch),
            timeout_s,
        ) as trial,
    ):
        trial.create_topics([(TOPIC, exhibit.partitions)])
        exhibit.before(trial)
        trial.begin()
        variables = {**environment, "KAFKA_BOOTSTRAP_SERVERS": trial.broker.bootstrap_servers}
        with Program(command, variables, trial.output_file, takes_lines=True) as program:
            trial.program = program
            _during(exhibit, trial)
            status = trial.wait_end()
        trial.broker.trace.stop()
        trial.broker.faults.clear()
        trial.keep_trace(traces, f"{exhibit.name}-{version}")
        seen = _seen(trial, status)
    verdict = exhibit.check(seen) or neither(seen)
    shown = _lines(seen.events, verdict)
    took_s = time.monotonic() - began_s
    page = None if pages is None else _write_page(pages, exhibit, version, seen, verdict)
    return Replay(version, verdict, shown, took_s, page)


def _write_page(folder: Path, exhibit: Exhibit, version: str, seen: Seen, verdict: Verdict) -> Path:
    """Write the page of a replay; return its path. Raises OSError."""
    from ...picture.page import write_page

    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{exhibit.name}-{version}.html"
    numbers = ", ".join(f"#{each}" for each in verdict.events)
    told = f"{verdict.shows.value}: {verdict.text}" + (f" ({numbers})" if numbers else "")
    title = f"{exhibit.client} {version}: {exhibit.title}"
    write_page(seen.events, page, title=title, failure=told)
    return page


def _during(exhibit: Exhibit, trial: ReplayTrial) -> None:
    """The lab's part; a program that ends before leaves the rest to the check."""
    try:
        exhibit.during(trial)
    except (NotSaid, TimeoutError):
        return


def _seen(trial: ReplayTrial, status: int | None) -> Seen:
    broker = trial.broker
    records: dict[int, list[str]] = {}
    found = broker.read(TOPIC)
    for each in found:
        value = (each.value or b"").decode(errors="replace")
        records.setdefault(each.partition, []).append(value)
    offsets = {
        partition: offset
        for (topic, partition), offset in broker.offsets(GROUP).items()
        if topic == TOPIC
    }
    nulls = sum(each.value is None for each in found)
    return Seen(status, trial.output(), list(trial.events()), records, nulls, offsets)


def _lines(events: Sequence[Event], verdict: Verdict) -> tuple[str, ...]:
    """The lines of the trace for the events of a verdict."""
    wanted = {str(number) for number in verdict.events}
    found = (text for text, _ in lines_of(events))
    return tuple(text for text in found if text.split(maxsplit=1)[:1] and text.split()[0] in wanted)
