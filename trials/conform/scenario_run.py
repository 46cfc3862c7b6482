"""Runs a program in a scenario: a broker, its state and faults, the program, the verdict."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ...client.admin.offsets import LATEST, partition_offsets
from ...client.cluster_client import Client, ErrorAnswer, NoAnswer
from ...client.record_batch import OutgoingRecord
from ...client.record_producer import produce
from ...testing.broker import BrokerFailed, Ottla
from ...trace.events import Event
from ..known_bugs import known_bugs
from ..program import NoProgram, Program, describe_exit
from ..trial import Trial
from .copy_rules import WORKS, Copied, judge_copy, judge_position, judge_work, judge_wrong_values
from .findings import Finding, Result
from .judging import is_named, judge_trace, rules_named
from .known_violations import ClientNames, with_known
from .scenarios import GROUP, INPUT, OUTPUT, TRANSACTIONAL_ID, LabFault, Scenario
from .watching import RUNNER, Watch

_SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0"}
_BATCH: Final = 8
_LOOK_S: Final = 0.02
_LAST_CLOSE_S: Final = 1.0
# So many requests at the same offset before the end of the log are no accident.
_STUCK: Final = 20
# A program that never reads on gets its late records after this time; heartbeats take up to 5 s.
_PATIENCE_S: Final = 10.0
Faults = list[tuple[LabFault, int]]
CANNOT_RUN: Final = (NoProgram, BrokerFailed, NoAnswer, ErrorAnswer, OSError)
"""What ends a scenario without a verdict; the text is one line."""


class RunPlan(NamedTuple):
    """How programs are run.

    Attributes:
        command: the program, with placeholders.
        rules: the ids of the rules to judge by, patterns with *; all if there is none.
        timeout_s: the longest run of the program in a scenario.
        traces: the directory that keeps the traces; None for none.
        left_out: the ids of rules that the program does not promise to obey.
    """

    command: Sequence[str]
    rules: Sequence[str] = ()
    timeout_s: float = 60.0
    traces: Path | None = None
    left_out: Sequence[str] = ()

    def has(self, rule_id: str) -> bool:
        """Whether a rule is judged."""
        return is_named(rule_id, self.rules) and rule_id not in self.left_out


class _Run(NamedTuple):
    """A program that has ended, or was ended.

    Attributes:
        status: its exit status; None if it did not end in time.
        tail: the end of its output.
        end_before: the end of the input's log before the late records.
        position: where the program fetched then; None if it ended before.
    """

    status: int | None
    tail: tuple[str, ...]
    took_s: float
    end_before: int
    position: int | None


def run_scenario(scenario: Scenario, plan: RunPlan) -> Result:
    """Run a program in a scenario. Raises one of CANNOT_RUN."""
    with (
        TemporaryDirectory(prefix="ottla-conform-") as scratch,
        Trial(
            Ottla(nodes=scenario.nodes, settings=_SETTINGS), Path(scratch), plan.timeout_s
        ) as trial,
    ):
        trial.create_topics([(INPUT, 1), (OUTPUT, scenario.output_partitions)])
        return _ScenarioRun(trial, scenario, plan).result()


def _prepare(broker: Ottla, scenario: Scenario) -> None:
    """Make what the program finds in the topics."""
    for given in scenario.given:
        if not given.after:
            broker.given(given.state, **given.parameters)
    by = "conform-writer" if scenario.is_committed else None
    rows = [
        (f"key-{number}", f"record-{number}".ljust(scenario.value_bytes, "."))
        for number in range(scenario.records)
    ]
    for begin in range(0, len(rows), _BATCH):
        broker.produce(INPUT, rows[begin : begin + _BATCH], transactional_id=by)
    for given in scenario.given:
        if given.after:
            broker.given(given.state, **given.parameters)


class _ScenarioRun:
    """A scenario on its broker."""

    def __init__(self, trial: Trial, scenario: Scenario, plan: RunPlan) -> None:
        self._trial = trial
        self._broker = trial.broker
        self._scenario = scenario
        self._plan = plan
        self._watch = Watch(trial.trace, INPUT)
        self._faults: Faults = []
        self._clients: list[str] = []

    def result(self) -> Result:
        """Run the program, and judge it."""
        broker = self._broker
        _prepare(broker, self._scenario)
        records = len(broker.read(INPUT)) + self._scenario.late
        end = _end_of_input(broker)
        for fault in self._scenario.faults:
            added = broker.faults.add(
                fault.kind, match=fault.match, goes_on=fault.goes_on, **fault.parameters
            )
            self._faults.append((fault, added.number))
        self._trial.begin()
        run = self._run(_values(broker, records), end)
        broker.faults.clear()
        self._trial.keep_trace(self._plan.traces, self._scenario.name)
        found = self._findings(run)
        ended_by_us = f"the program did not end within {self._plan.timeout_s:g} s, and was ended"
        does_not_work = ""
        if self._scenario.is_calm:
            does_not_work = ended_by_us if run.status is None else _why_not(found)
        found = [with_known(each, self._clients) for each in found if self._plan.has(each.rule_id)]
        return Result(
            self._scenario.name,
            tuple(found),
            self._scenario.sentence,
            trouble=ended_by_us if run.status is None else "",
            notes=(
                *not_fired(self._faults, self._watch.fired),
                *(known_to_hang(self._trial.events()) if run.status is None else ()),
            ),
            took_s=run.took_s,
            last_lines=run.tail if run.status is None else (),
            does_not_work=does_not_work,
        )

    def _run(self, values: Mapping[str, str], end: int) -> _Run:
        """Run the program to its end, or until its time is over."""
        trial, broker, watch = self._trial, self._broker, self._watch
        patience_s = min(self._plan.timeout_s / 2, _PATIENCE_S)
        position: int | None = None
        output = trial.directory / "output.txt"
        with Program.with_values(self._plan.command, values, output) as program:
            while program.status is None and not trial.is_late:
                watch.look()
                if position is None and (trial.passed_s > patience_s or self._is_ready(end)):
                    position = watch.position
                    _send(broker, self._scenario.late)
                time.sleep(_LOOK_S)
            status, took_s = program.status, trial.passed_s
            if status is not None:
                _wait_for_closes(watch)
            # Before the end of the process group, so that the trace has nothing that it causes.
            broker.trace.stop()
            tail = program.tail()
        watch.look()
        return _Run(status, tail, took_s, end, position)

    def _is_ready(self, end: int) -> bool:
        """Whether the program waits for the late records, or is stuck before them."""
        watch, faults = self._watch, self._faults
        if watch.position < end:
            return watch.repeats >= _STUCK
        needed = {fault.one_of or str(number) for fault, number in faults if fault.needed}
        met = {fault.one_of or str(number) for fault, number in faults if number in watch.fired}
        return needed <= met

    def _findings(self, run: _Run) -> list[Finding]:
        names = ClientNames()
        found = judge_trace(
            lambda: names.noting(self._trial.events()),
            rules_named(self._plan.rules),
            is_judged=lambda client_id: client_id != RUNNER,
        )
        self._clients = names.clients
        if self._scenario.position_rule:
            rule = self._scenario.position_rule
            found.append(judge_position(rule, run.position, run.end_before))
        copied = None if run.status is None else self._copied(run, run.status)
        if self._scenario.work_rule and self._watch.fired:
            found.append(judge_work(self._scenario.work_rule, copied))
        if copied is not None:
            wrong_values = self._scenario.wrong_values if self._watch.fired else ""
            if wrong_values:
                found.append(judge_wrong_values(wrong_values, copied))
            # A program that notices such an answer may also fail.
            if not wrong_values or copied.status == 0:
                found += judge_copy(copied)
        return found

    def _copied(self, run: _Run, status: int) -> Copied:
        broker, watch = self._broker, self._watch
        return Copied(
            status=status,
            ended=describe_exit(status),
            last_lines=run.tail,
            input=broker.read(INPUT, isolation="read_uncommitted"),
            output=broker.read(OUTPUT),
            offset=broker.offsets(GROUP).get((INPUT, 0), -1),
            transactional_commits=watch.transactional_commits,
            plain_commits=watch.plain_commits,
        )


def _why_not(findings: Sequence[Finding]) -> str:
    """Why a program does not do its work although nothing is in its way; empty if it does."""
    for each in findings:
        if each.rule_id in WORKS and each.violated:
            breach = each.breaches[0]
            left = "" if each.violated == 1 else f", and {each.violated - 1} more"
            last = f": {breach.lines[-1]}" if breach.lines else ""
            return f"{breach.text}{left}{last}"
    return ""


def _values(broker: Ottla, records: int) -> dict[str, str]:
    """The values of placeholders, by their names."""
    return {
        "bootstrap": broker.bootstrap_servers,
        "topic": INPUT,
        "input": INPUT,
        "output": OUTPUT,
        "group": GROUP,
        "transactional_id": TRANSACTIONAL_ID,
        "records": str(records),
    }


def _end_of_input(broker: Ottla) -> int:
    with Client.to(broker.bootstrap_servers) as client:
        return partition_offsets(client, INPUT, {0: LATEST})[0]


def _send(broker: Ottla, count: int) -> None:
    """Send the late records, by a client that is not judged."""
    if count:
        records = [OutgoingRecord(f"late-{number}".encode()) for number in range(count)]
        with Client.to(broker.bootstrap_servers, client_id=RUNNER) as client:
            produce(client, INPUT, records)


def _wait_for_closes(watch: Watch) -> None:
    """The broker sees the ends of connections shortly after the program's end."""
    deadline_s = time.monotonic() + _LAST_CLOSE_S
    watch.look()
    while watch.is_connected and time.monotonic() < deadline_s:
        time.sleep(_LOOK_S)
        watch.look()


def not_fired(faults: Faults, fired: Mapping[int, int]) -> list[str]:
    """The faults that did not happen, as notes.

    Args:
        fired: how often each rule acted, by its number.
    """
    met = {fault.one_of for fault, number in faults if number in fired}
    return [
        f"{fault.kind} did not happen: no such {fault.match.get('api', 'request')}"
        for fault, number in faults
        if number not in fired and (not fault.one_of or fault.one_of not in met)
    ]


def known_to_hang(events: Iterable[Event]) -> list[str]:
    """Why a program may not have ended although it is right, as notes; from its trace."""
    return [f"known: {each}" for each in known_bugs(list(events), is_stuck=True)]
