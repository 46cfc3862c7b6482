"""Timers of a shard: in slices, in batches that fit, and again after the log refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from ottla.broker.event_stream import Events
from ottla.broker.events import DecisionAppended
from ottla.broker.runtime.shards.shard import Shard, ShardServices
from ottla.broker.scheduling.turns import set_slice_s
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import Effect, Outcome
from ottla.protocol.batch import headers_in
from ottla.protocol.errors import Code, Refused
from ottla.storage.log import PartitionLog
from tests.broker.fakes import settle
from tests.clocks import LoopClock
from tests.log_lines import LogLines
from tests.storage.disk import Disk
from tests.storage.logs import open_log

RETRY_MS = 500


class Chores:
    """A machine with things to be done at their times; what is done is in the log."""

    def __init__(self) -> None:
        self.due_ms: dict[str, int] = {}
        self.done: list[str] = []
        self.is_atomic = True
        self.together = 1
        self.effects: tuple[Effect, ...] = ()  # of each decision of a tick
        self.fault: Exception | None = None  # raised by a tick

    def replay(self, record: str) -> None:
        name, _, at_ms = record.partition(" at ")
        if at_ms:
            self.due_ms[name] = int(at_ms)
        else:
            self.due_ms.pop(name, None)
            self.done.append(name)

    def next_deadline(self, now: Moment) -> int | None:
        return min(self.due_ms.values(), default=None)

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        if self.fault is not None:
            raise self.fault
        while due := [name for name, at_ms in self.due_ms.items() if at_ms <= now.monotonic_ms]:
            chosen = due[: self.together]
            for name in chosen:
                self.due_ms[name] = now.monotonic_ms + RETRY_MS  # unless it is done
            yield Outcome(None, tuple(chosen), self.effects, is_atomic=self.is_atomic)


class Bell(Effect):
    """Something to be done outside."""


class Place:
    """A shard over a log on a disk in memory.

    Args:
        carry_out: of the shard.
        settings: of the log.
    """

    def __init__(
        self,
        carry_out: Callable[[Shard[Any], Effect], None] = lambda shard, effect: None,
        **settings: Any,
    ) -> None:
        self.log: PartitionLog = open_log(Disk(), clean=False, **settings)
        self.machine = Chores()
        self.events = Events()
        self.shard = Shard(
            self.log,
            self.machine,
            (lambda record: (record.encode(), b""), lambda key, value: key.decode()),
            ShardServices(LoopClock(), wake_fetches=lambda *_: None, events=self.events),
            carry_out=carry_out,
        )

    def plan(self, *names: str, at_ms: int = 0) -> None:
        """Things that are due some ms after the start."""
        for name in names:
            record = f"{name} at {at_ms}"
            self.write(record)

    def write(self, *records: str) -> None:
        self.shard.run_now(lambda machine, now: Outcome(None, records))

    def batches(self) -> list[Any]:
        end = self.log.log_end_offset
        data = self.log.read(0, max_bytes=1 << 20, up_to=end, min_one=True).records
        return [header for _, header in headers_in(data)]


@pytest.fixture(name="place")
def new_place() -> Place:
    return Place()


@contextmanager
def refusing(place: Place, *names: str, code: Code = Code.NOT_ENOUGH_REPLICAS) -> Iterator[None]:
    """The log does not take batches with one of the names in them; without names none at all."""
    right = place.log.append_checked

    def append(checked: Any, **named: Any) -> Any:
        if not names or any(name.encode() in bytes(checked[0]) for name in names):
            raise Refused(code, "as the test wants it")
        return right(checked, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place.log, "append_checked", append)
        yield


@pytest.fixture
def said(log_lines: LogLines) -> LogLines:
    return log_lines.of("shard")


EACH_DECISION = -1.0  # each decision uses up a slice
MANY = [f"chore-{number:03}" for number in range(40)]


async def test_each_thing_that_is_due_is_a_batch_of_its_own(place: Place) -> None:
    place.plan("a", "b", "c", at_ms=1000)
    await asyncio.sleep(2)
    assert place.machine.done == ["a", "b", "c"]
    assert [header.record_count for header in place.batches()[3:]] == [1, 1, 1]


async def test_the_event_loop_runs_between_slices_of_due_timers() -> None:
    set_slice_s(EACH_DECISION)
    place = Place()
    place.plan(*MANY, at_ms=1000)
    await asyncio.sleep(1)
    seen = []
    for _ in range(2 * len(MANY)):
        await asyncio.sleep(0)
        seen.append(len(place.machine.done))
    assert set(seen) >= set(range(2, len(MANY) + 1)), "one in each turn"
    assert asyncio.get_running_loop().time() < 1.1, "one slice follows the other at once"


async def test_a_request_comes_between_the_slices_and_is_not_kept_by_all_that_is_due() -> None:
    set_slice_s(EACH_DECISION)
    place = Place()
    place.plan(*MANY, at_ms=1000)
    await asyncio.sleep(1)
    await settle()
    before = len(place.machine.done)
    assert await place.shard.run(lambda machine, now: Outcome("served")) == "served"
    assert before < len(place.machine.done) + 1 < len(MANY)


async def test_all_that_is_due_in_many_coordinators_shares_one_slice_in_each_turn() -> None:
    set_slice_s(EACH_DECISION)
    places = [Place() for _ in range(20)]
    for place in places:
        place.plan("a", "b", "c", at_ms=1000)
    await asyncio.sleep(1)
    done = [sum(len(place.machine.done) for place in places)]
    while done[-1] < 60:
        await asyncio.sleep(0)
        done.append(sum(len(place.machine.done) for place in places))
    assert done[0] <= 1
    made = {later - sooner for sooner, later in pairwise(done)}
    assert made <= {0, 1}, "one decision in a turn of the event loop, however many are due"
    assert asyncio.get_running_loop().time() < 1.1, "one slice follows the other at once"


async def test_each_coordinator_has_its_turn_before_one_has_a_second() -> None:
    set_slice_s(EACH_DECISION)
    places = [Place() for _ in range(5)]
    for place in places:
        place.plan("a", "b", "c", at_ms=1000)
    await asyncio.sleep(1)
    seen: list[list[int]] = []
    while sum(map(len, (place.machine.done for place in places))) < 15:
        await asyncio.sleep(0)
        seen.append([len(place.machine.done) for place in places])
    assert all(max(counts) - min(counts) <= 1 for counts in seen)


async def test_a_due_timer_runs_before_a_request_to_its_coordinator() -> None:
    set_slice_s(EACH_DECISION)
    places = [Place() for _ in range(20)]
    for place in places:
        place.plan("a", at_ms=1000)
    await asyncio.sleep(1)
    for _ in range(2):
        await asyncio.sleep(0)
    assert places[0].machine.done == ["a"]
    last = places[-1]
    assert last.machine.done == []
    seen = last.shard.run_now(lambda machine, now: Outcome([*machine.done]))
    assert seen == ["a"]


async def test_a_coordinator_that_fails_in_its_turn_does_not_stop_the_others() -> None:
    set_slice_s(EACH_DECISION)
    places = [Place() for _ in range(3)]
    for place in places:
        place.plan("a", at_ms=1000)

    places[0].machine.fault = RuntimeError("a fault")
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    await asyncio.sleep(2)
    assert [place.machine.done for place in places] == [[], ["a"], ["a"]]
    assert [str(context["exception"]) for context in told] == ["a fault"]


async def test_a_coordinator_that_fails_once_makes_its_due_decisions_a_second_later() -> None:
    place = Place()
    place.plan("a", at_ms=1000)
    place.machine.fault = MemoryError()
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    await asyncio.sleep(1.5)
    assert place.machine.done == []
    assert place.shard.run_now(lambda machine, now: Outcome("an answer")) == "an answer"
    place.machine.fault = None
    await asyncio.sleep(0.6)
    assert place.machine.done == ["a"]


async def test_a_sooner_deadline_than_the_one_that_is_waited_for_is_kept(place: Place) -> None:
    place.plan("late", at_ms=9000)
    place.plan("soon", at_ms=2000)
    await asyncio.sleep(2.001)
    assert place.machine.done == ["soon"]
    place.plan("sooner", at_ms=2500)
    await asyncio.sleep(0.5)
    assert place.machine.done == ["soon", "sooner"]
    await asyncio.sleep(7)
    assert place.machine.done == ["soon", "sooner", "late"]


async def test_a_divisible_decision_is_written_in_as_many_batches_as_needed() -> None:
    place = Place(max_message_bytes=300)
    place.machine.is_atomic, place.machine.together = False, len(MANY)
    place.plan(*MANY, at_ms=1000)
    await asyncio.sleep(2)
    assert place.machine.done == MANY
    written = place.batches()[len(MANY) :]
    assert max(header.size_bytes for header in written) <= 300
    assert min(header.record_count for header in written[:-1]) > 5, "and no more than that"


async def test_a_batch_fits_a_segment_too() -> None:
    place = Place(segment_bytes=300)
    place.machine.is_atomic, place.machine.together = False, len(MANY)
    place.plan(*MANY, at_ms=1000)
    await asyncio.sleep(2)
    assert place.machine.done == MANY


async def test_records_written_before_a_refusal_apply_and_the_rest_is_retried(
    said: LogLines,
) -> None:
    place = Place(max_message_bytes=300)
    place.machine.is_atomic, place.machine.together = False, len(MANY)
    place.plan(*MANY, at_ms=1000)
    records: list[str] = []

    def observe(event: Any) -> None:
        if isinstance(event, DecisionAppended):
            records.extend(event.outcome.records)

    place.events.add(observe)
    with refusing(place, MANY[20]):
        await asyncio.sleep(1.5)
        done = len(place.machine.done)
        assert place.machine.done == MANY[:done]
        assert 0 < done <= 20
        assert records == MANY[:done]
    await asyncio.sleep(2)
    assert place.machine.done == records == MANY


@pytest.mark.parametrize("slice_s", [-1, 60], ids=["many slices", "one slice"])
async def test_one_decision_that_is_too_large_keeps_no_other_from_being_made(
    said: LogLines, slice_s: float
) -> None:
    set_slice_s(slice_s)
    place = Place()
    place.plan(*MANY, at_ms=1000)
    with refusing(place, MANY[3], code=Code.MESSAGE_TOO_LARGE):
        await asyncio.sleep(10)
        assert place.machine.done == [name for name in MANY if name != MANY[3]]
        assert [level for level, _, _ in said.lines] == ["error"], "it is told once"
        assert place.shard.failing_timer is not None
    await asyncio.sleep(2)
    assert place.machine.done[-1] == MANY[3]
    assert place.shard.failing_timer is None


async def test_failing_timers_are_logged_once_with_their_effect(said: LogLines) -> None:
    place = Place()
    place.log.topic = "__consumer_offsets"
    place.plan(*MANY, at_ms=1000)
    with refusing(place):
        await asyncio.sleep(60)
        assert place.machine.done == []
        ((level, _, fields),) = said.lines
        assert level == "error"
        assert "members of groups that have died keep their partitions" in fields["meaning"]
        assert fields["reason"] == "NOT_ENOUGH_REPLICAS: as the test wants it"
    await asyncio.sleep(2)
    assert place.machine.done == MANY
    assert [level for level, _, _ in said.lines] == ["error", "warning"]


async def test_an_effect_that_decides_while_a_tick_goes_on_does_not_tick_within_it() -> None:
    deep: list[int] = []

    def carry_out(shard: Shard[Any], effect: Effect) -> None:
        deep.append(len(place.machine.done))
        shard.run_now(lambda machine, now: Outcome(None))

    place = Place(carry_out)
    place.machine.effects = (Bell(),)
    place.plan("a", "b", "c", at_ms=1000)
    await asyncio.sleep(2)
    assert place.machine.done == ["a", "b", "c"]
    assert deep == [1, 2, 3], "one after the other"
