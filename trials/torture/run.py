"""One run of an application under a schedule, from its start to the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ...trace.events import Event, Fault
from ..program import describe_exit
from .checks import EXITS, FENCING, STUCK, Seen, Violation, judge_output
from .contract import Contract
from .copies import Copy
from .deliveries import judge_deliveries
from .inputs import late_records, portions_of
from .ledger import judge_ledger
from .schedule import REPLACED, TIMED_OUT, Schedule, ScheduleStep
from .torture_broker import TortureBroker
from .watch import Watch

_LOOK_S: Final = 0.015
_QUIET_S: Final = 0.12
_OFFSETS_S: Final = 0.05
_NEXT_PORTION_S: Final = 0.6
_FIRST_SKIP_S: Final = 2.0
_NUDGE_S: Final = 0.7
_SKIP_MS: Final = 61_000
_LONGEST_ACT_S: Final = 4.0
_NODE_DOWN_S: Final = 0.4
_JOIN_S: Final = 2.0
_GRACE_S: Final = 3.0
_BEYOND_TIMEOUTS_MS: Final = 61_000
"""Beyond the usual session timeout of a member (45 s) and the usual timeout of a transaction."""
_EXITS: Final = 5
_EXITS_OF_A_STEP: Final = 4


class Told(NamedTuple):
    """Something that the runner did or saw.

    Attributes:
        seq: of the last event of the trace before it.
    """

    seq: int
    text: str


@dataclass
class RunOutcome:
    """What a run came to.

    Attributes:
        fired: the steps that happened.
        story: what the runner did and saw.
        events: of the trace, if something is wrong.
        apis: those that the application used, with their highest versions.
    """

    violations: list[Violation] = field(default_factory=list)
    fired: tuple[ScheduleStep, ...] = ()
    took_s: float = 0.0
    story: list[Told] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    apis: dict[str, int] = field(default_factory=dict)
    last_lines: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def kinds(self) -> set[str]:
        """The kinds of what is wrong."""
        return {each.kind for each in self.violations}


def run(
    contract: Contract, schedule: Schedule, is_over: Callable[[], bool] = lambda: False
) -> RunOutcome:
    """Run a schedule.

    Args:
        is_over: whether the outcome is of no interest any more; then the run ends.

    Raises:
        NoProgram, BrokerFailed, NoAnswer, ErrorAnswer: it cannot take place.
    """
    with (
        TemporaryDirectory(prefix="ottla-torture-") as scratch,
        TortureBroker(contract, schedule, Path(scratch)) as trial,
    ):
        return _ScheduleRun(contract, schedule, trial).outcome(is_over)


class _Act:
    """A step of processes under way: its request is held until the act is over."""

    def __init__(self, step: ScheduleStep, rule: int, seq: int) -> None:
        self.step = step
        self.rule = rule
        self.began_s = time.monotonic()
        self.seq = seq
        self.is_over: Callable[[], bool] = lambda: True
        self.finish: Callable[[], None] = lambda: None

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.began_s + _LONGEST_ACT_S


class _ScheduleRun:
    def __init__(self, contract: Contract, schedule: Schedule, trial: TortureBroker) -> None:
        self._contract = contract
        self._schedule = schedule
        self._trial = trial
        self._watch = Watch(trial.trace)
        self._copies: dict[int, Copy] = {}
        self._rules: dict[int, ScheduleStep] = {}
        self._fired: list[ScheduleStep] = []
        self._acts: list[_Act] = []
        self._portions = portions_of(schedule.data)
        self._sent = 0
        self._offsets: dict[tuple[str, int], int] = {}
        self._ends: dict[tuple[str, int], int] = {}
        self._offsets_s = self._portion_s = 0.0
        self._skip_after_s = _FIRST_SKIP_S
        self._skipped_s = 0.0
        self._is_nudged = False
        self._found: list[Violation] = []
        self.story: list[Told] = []

    def outcome(self, is_given_up: Callable[[], bool]) -> RunOutcome:
        self._send_portion()
        self._rules = self._trial.add_rules()
        self._trial.begin()
        try:
            for _ in range(self._schedule.copies):
                self._start_copy()
            while not self._is_over():
                time.sleep(_LOOK_S)
                self._turn()
                if is_given_up():
                    return RunOutcome(took_s=self._trial.passed_s)
            self._end()
        finally:
            for copy in self._copies.values():
                copy.end(0.0)
        seen = self._seen()
        judged = judge_output(
            self._contract.check, seen, at_least_once=self._contract.at_least_once
        )
        self._watch.look()
        events = self._watch.events
        violations = [
            *judged, *self._found, *judge_ledger(events, seen.output), *judge_deliveries(events),
        ]  # fmt: skip
        return RunOutcome(
            violations=violations,
            fired=tuple(self._fired),
            took_s=self._trial.passed_s,
            story=self.story,
            events=self._watch.events if violations else [],
            apis=self._watch.apis,
            last_lines={each.number: each.last_lines for each in self._copies.values()},
        )

    # One turn

    def _turn(self) -> None:
        self._watch.look()
        for number, event in list(self._watch.fired.items()):
            step = self._rules.pop(number, None)
            if step is not None:
                self._fired.append(step)
                self._tell(f"step: {step}", event.seq)
                if step.is_of_processes:
                    self._begin(step, number, event)
        for act in list(self._acts):
            if act.is_over() or act.is_late:
                self._acts.remove(act)
                act.finish()
        self._restart()
        self._trial.follow()
        self._look_at_offsets()
        self._skip_quiet_time()

    def _tell(self, text: str, seq: int | None = None) -> None:
        self.story.append(Told(self._watch.last_seq if seq is None else seq, text))

    def _start_copy(self) -> Copy:
        number = len(self._copies) + 1
        copy = Copy(number, self._contract, self._trial.bootstrap(number), self._trial.directory)
        self._copies[number] = copy
        copy.start()
        self._tell(f"copy {number} starts")
        return copy

    def _restart(self) -> None:
        for number, copy in self._copies.items():
            status = copy.has_exited()
            if status is not None:
                self._tell(f"copy {number}: {describe_exit(status)}")
                self._trial.expel(self._watch.members(number))
                self._watch.forget_owner(number)
            if copy.start_again():
                self._tell(f"copy {number} starts again")

    def _look_at_offsets(self) -> None:
        now_s = time.monotonic()
        if now_s < self._offsets_s + _OFFSETS_S:
            return
        self._offsets_s = now_s
        before = self._offsets
        self._offsets = self._trial.offsets() or before
        if self._offsets != before:
            self._portion_s = now_s
        is_slow = now_s > self._portion_s + _NEXT_PORTION_S and self._offsets
        if self._sent < len(self._portions) and (self._is_committed or is_slow):
            self._send_portion()

    @property
    def _is_committed(self) -> bool:
        return all(self._offsets.get(place, 0) >= end for place, end in self._ends.items())

    def _send_portion(self) -> None:
        for place, end in self._trial.send(self._portions[self._sent]).items():
            self._ends[place] = max(self._ends.get(place, 0), end)
        self._sent += 1
        self._portion_s = time.monotonic()

    def _skip_quiet_time(self) -> None:
        """If nothing happens, time passes faster: what blocks the application may time out."""
        now_s = time.monotonic()
        quiet_s = now_s - max(self._watch.changed_s, self._skipped_s)
        if self._acts or self._is_done():
            return
        if quiet_s > _NUDGE_S and not self._is_nudged and self._sent == len(self._portions):
            self._is_nudged = True
            self._ends |= self._trial.send(late_records(self._schedule.data))
            self._tell("one more record comes in each partition of the input")
        if quiet_s < self._skip_after_s:
            return
        self._skipped_s = now_s
        self._skip_after_s *= 2
        self._tell("nothing happens: 61 s pass at once")
        self._trial.jump(_SKIP_MS)

    # Steps of processes

    def _begin(self, step: ScheduleStep, rule: int, event: Fault) -> None:
        act = _Act(step, rule, event.seq)
        copy = self._copies.get(step.at.copy)
        if copy is None:
            self._trial.release(rule)
            return
        request = self._watch.request_of(event)
        node_id = 1 if request is None or request.node_id is None else request.node_id
        getattr(self, f"_{step.do}")(act, copy, node_id)
        self._acts.append(act)

    def _kill(self, act: _Act, copy: Copy, _node_id: int) -> None:
        copy.kill()
        self._trial.release(act.rule)
        self._trial.expel(self._watch.members(copy.number))
        self._watch.forget_owner(copy.number)

    def _pause(self, act: _Act, copy: Copy, _node_id: int) -> None:
        copy.pause()
        meanwhile = act.step.meanwhile
        ends = dict(self._ends)
        # What it has read is read and committed by others meanwhile.
        act.is_over = lambda: all(self._offsets.get(each, 0) >= ends[each] for each in ends)
        self._trial.expel(self._watch.members(copy.number))
        if meanwhile == TIMED_OUT:
            self._trial.jump(_BEYOND_TIMEOUTS_MS)
        elif meanwhile == REPLACED:
            self._tell(f"another process starts as copy {copy.number}")
            copy.replace()
        elif len(self._copies) == 1:
            act.is_over = lambda: True

        def finish() -> None:
            self._trial.release(act.rule)
            self._tell(f"copy {copy.number} goes on (SIGCONT)")
            copy.resume()

        act.finish = finish

    def _stop(self, act: _Act, copy: Copy, _node_id: int) -> None:
        copy.terminate()
        self._trial.release(act.rule)

    def _start(self, act: _Act, _copy: Copy, _node_id: int) -> None:
        started = self._start_copy()
        deadline_s = time.monotonic() + _JOIN_S
        act.is_over = lambda: (
            self._watch.joins.get(started.number, 0) > 0 or time.monotonic() > deadline_s
        )
        act.finish = lambda: self._trial.release(act.rule)

    def _fence(self, act: _Act, copy: Copy, _node_id: int) -> None:
        for name in self._watch.transactional_ids(copy.number):
            self._trial.fence(name)
        self._trial.release(act.rule)

    def _jump(self, act: _Act, _copy: Copy, _node_id: int) -> None:
        self._trial.jump(act.step.time_ms)
        self._trial.release(act.rule)

    def _crash(self, act: _Act, _copy: Copy, node_id: int) -> None:
        self._trial.crash(node_id)
        deadline_s = time.monotonic() + _NODE_DOWN_S
        act.is_over = lambda: time.monotonic() > deadline_s

        def finish() -> None:
            self._tell(f"node {node_id} starts again")
            self._trial.start_node(node_id)

        act.finish = finish

    # The end

    def _is_done(self) -> bool:
        """Whether all is read and committed, and nothing is under way."""
        return (
            self._sent == len(self._portions)
            and self._is_committed
            and not self._watch.has_open_transaction
        )

    def _is_over(self) -> bool:
        now_s = time.monotonic()
        if self._acts:
            return False
        quiet_s = now_s - self._watch.changed_s
        if self._is_done() and quiet_s > _QUIET_S:
            return True
        exits = sum(len(each.exits) for each in self._copies.values())
        bound = _EXITS + _EXITS_OF_A_STEP * len(self._fired)
        fenced = self._watch.taken
        if len(fenced) >= 2 + 2 * len(self._fired):
            self._found.append(Violation(FENCING, f"{'; '.join(fenced[-4:])}"))
            return True
        if exits > bound:
            self._found.append(self._exits(exits))
            return True
        if self._trial.is_late or quiet_s > self._contract.idle_s:
            self._found.append(self._stuck(quiet_s))
            return True
        return False

    def _exits(self, count: int) -> Violation:
        copy = max(self._copies.values(), key=lambda each: len(each.exits))
        last = f": {copy.last_lines[-1]}" if copy.last_lines else ""
        text = f"the copies have exited {count} times; {describe_exit(copy.exits[-1])}{last}"
        return Violation(EXITS, text)

    def _stuck(self, quiet_s: float) -> Violation:
        behind = [
            f"{topic}-{partition} (offset {self._offsets.get((topic, partition), 0)} of {end})"
            for (topic, partition), end in self._ends.items()
            if self._offsets.get((topic, partition), 0) < end
        ]
        reason = f"nothing has happened for {quiet_s:.0f} s"
        if quiet_s < self._contract.idle_s:
            reason = f"it is not done after {self._contract.timeout_s:.0f} s"
        if not any(each.is_running for each in self._copies.values()):
            reason += "; no process is running"
        elif self._watch.has_open_transaction:
            reason += "; a transaction is open"
        where = f"; {', '.join(behind)} not committed" if behind else ""
        return Violation(STUCK, reason + where)

    def _end(self) -> None:
        """All faults are over; the copies close, and may end what they have begun."""
        self._trial.broker.faults.clear()
        for copy in self._copies.values():
            copy.resume()
            copy.terminate()
        for copy in self._copies.values():
            copy.end(_GRACE_S)
        self._trial.broker.trace.stop()
        # What the processes have left open is aborted by their timeouts.
        self._trial.jump(_BEYOND_TIMEOUTS_MS)
        self._tell("the copies have ended")

    def _seen(self) -> Seen:
        contract, broker = self._contract, self._trial.broker
        return Seen(
            broker.read(contract.input, isolation="read_uncommitted"),
            broker.read(contract.output, isolation="read_uncommitted"),
            self._trial.offsets() or self._offsets,
        )
