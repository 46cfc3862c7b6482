"""Runs an exhibit with one version of its client: a broker, the lab, the program, the check."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ottla.conform.program import Program
from ottla.lab_client import Fault
from ottla.museum.exhibit import Event, Exhibit, Seen, Verdict, neither, said
from ottla.museum.install import launch
from ottla.testing import Ottla
from ottla.trace_view import lines_of, read_trace

TOPIC: Final = "museum"
GROUP: Final = "museum"
_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}
_LOOK_S: Final = 0.02


class NotSaid(Exception):
    """The program did not say, within the time, what the lab waits for."""


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


class Stage:
    """What the lab of an exhibit works with: the broker, and the program once it runs."""

    def __init__(self, broker: Ottla, output: Path, timeout_s: float) -> None:
        self.broker = broker
        self._output = output
        self._deadline_s = time.monotonic() + timeout_s
        self.program: Program | None = None

    def output(self) -> list[str]:
        """The lines of the program's output."""
        try:
            return self._output.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def wait_said(self, name: str, count: int = 1) -> None:
        """Return once the program has said something under a name. Raises NotSaid."""
        while len(said(self.output(), name)) < count:
            if self.has_ended or time.monotonic() > self._deadline_s:
                raise NotSaid(name)
            time.sleep(_LOOK_S)

    def wait_output(self, text: str, count: int = 1) -> None:
        """Return once so many lines of the output have a text. Raises NotSaid."""
        while sum(text in each for each in self.output()) < count:
            if self.has_ended or time.monotonic() > self._deadline_s:
                raise NotSaid(text)
            time.sleep(_LOOK_S)

    def wait_fired(self, fault: Fault, count: int) -> None:
        """Return once a fault has fired so often, or the program has ended."""
        while fault.fired < count and not self.has_ended and time.monotonic() < self._deadline_s:
            time.sleep(_LOOK_S)

    def end(self) -> None:
        """End the program."""
        if self.program is not None:
            self.program.end()

    def tell(self, line: str) -> None:
        """Send the program a line."""
        if self.program is not None:
            self.program.tell(line)

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended."""
        return self.program is not None and self.program.status is not None

    def wait_end(self) -> int | None:
        """The exit status of the program; None if its time is over before."""
        while not self.has_ended and time.monotonic() < self._deadline_s:
            time.sleep(_LOOK_S)
        return None if self.program is None else self.program.status


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
