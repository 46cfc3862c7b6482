"""Runs an exhibit with one version of its client: a broker, the lab, the program, the check."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ...testing.broker import Ottla
from ...trace.events import Event
from ...trace.reader import read_trace
from ...trace.view import lines_of
from ..conform.program import Program
from .exhibit import Exhibit, Verdict, neither
from .install import launch
from .seen import Seen
from .stage import GROUP, TOPIC, NotSaid, Stage

_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}


class Replay(NamedTuple):
    """An exhibit as it was run.

    Attributes:
        version: of the client.
        verdict: of the check.
        lines: of the trace that show it, as `ottla trace show` prints them.
    """

    version: str
    verdict: Verdict
    lines: tuple[str, ...]
    took_s: float


def replay(
    exhibit: Exhibit, version: str, *, timeout_s: float = 60.0, traces: Path | None = None
) -> Replay:
    """Run an exhibit. Raises NotInstalled, NoProgram, BrokerFailed."""
    command, environment = launch(exhibit.client, version, exhibit.program)
    began_s = time.monotonic()
    with (
        TemporaryDirectory(prefix="ottla-museum-") as scratch,
        Ottla(nodes=exhibit.nodes, settings={**_SETTINGS, **exhibit.settings}) as broker,
    ):
        trace = Path(scratch) / "trace.jsonl"
        output = Path(scratch) / "output.txt"
        replicas = exhibit.nodes
        broker.create_topic(TOPIC, partitions=exhibit.partitions, replication_factor=replicas)
        stage = Stage(broker, output, timeout_s)
        exhibit.before(stage)
        broker.trace.start(ring=1, file=trace)
        variables = {**environment, "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers}
        with Program(command, variables, output, takes_lines=True) as program:
            stage.program = program
            _during(exhibit, stage)
            status = stage.wait_end()
        broker.trace.stop()
        broker.faults.clear()
        if traces is not None:
            traces.mkdir(parents=True, exist_ok=True)
            shutil.copy(trace, traces / f"{exhibit.name}-{version}.jsonl")
        seen = _seen(broker, trace, status, stage.output())
    verdict = exhibit.check(seen) or neither(seen)
    shown = _lines(seen.events, verdict)
    return Replay(version, verdict, shown, time.monotonic() - began_s)


def _during(exhibit: Exhibit, stage: Stage) -> None:
    """The lab's part; a program that ends before leaves the rest to the check."""
    try:
        exhibit.during(stage)
    except (NotSaid, TimeoutError):
        return


def _seen(broker: Ottla, trace: Path, status: int | None, output: list[str]) -> Seen:
    with trace.open(encoding="utf-8") as lines:
        events = list(read_trace(lines))
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
    return Seen(status, output, events, records, nulls, offsets)


def _lines(events: Sequence[Event], verdict: Verdict) -> tuple[str, ...]:
    """The lines of the trace for the events of a verdict."""
    wanted = {str(number) for number in verdict.events}
    found = (text for text, _ in lines_of(events))
    return tuple(text for text in found if text.split(maxsplit=1)[:1] and text.split()[0] in wanted)
