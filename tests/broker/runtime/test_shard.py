"""A machine over a log: decide, append, replay, carry out, reply; and everything that may fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import pytest

from ottla.broker.runtime.shards.shard import Shard, ShardServices
from ottla.coordinator.moment import Moment
from ottla.coordinator.outcome import PARKED, Answer, Effect, Outcome, Producer
from ottla.protocol.batch import build, headers_in
from ottla.protocol.errors import Code, Malformed, Refused
from ottla.storage.log import PartitionLog
from tests.broker.fakes import START_MS, VirtualLoop, settle
from tests.clocks import LoopClock
from tests.log_lines import LogLines
from tests.storage.disk import Disk
from tests.storage.logs import open_log

SHOP = Producer(7, 0)


@dataclass(frozen=True)
class Said:
    """A record of a word; the word "alarm N" sets the alarm to N ms from the start."""

    who: str
    word: str | None


@dataclass(frozen=True)
class Bell(Effect):
    """Something to be done outside."""

    name: str


class Words:
    """A toy machine: remembers words, parks who waits for one, and rings at its alarm."""

    def __init__(self) -> None:
        self.words: list[Said] = []
        self.pending: list[tuple[Said, Producer]] = []
        self.alarm_ms: int | None = None
        self.waiting: list[int] = []
        self.ticks: list[int] = []
        self.refuses_to_tick = False

    def replay(self, record: Said) -> None:
        self.words.append(record)
        if record.word and record.word.startswith("alarm"):
            self.alarm_ms = int(record.word.split()[1])
        elif record.word == "quiet":
            self.alarm_ms = None

    def replay_pending(self, record: Said, producer: Producer) -> None:
        self.pending.append((record, producer))

    def replay_marker(self, producer: Producer, *, commit: bool) -> None:
        mine = [record for record, owner in self.pending if owner == producer]
        self.pending = [each for each in self.pending if each[1] != producer]
        if commit:
            self.words += mine

    def next_deadline(self, now: Moment) -> int | None:
        return self.alarm_ms

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        self.ticks.append(now.monotonic_ms)
        if self.refuses_to_tick:
            raise Refused(Code.KAFKA_STORAGE_ERROR)
        if self.alarm_ms is not None and now.monotonic_ms >= self.alarm_ms:
            answers = tuple(Answer(ticket, "alarm") for ticket in self.waiting)
            yield Outcome(None, (Said("clock", "quiet"),), (Bell("alarm"), *answers))


def encode(record: Said) -> tuple[bytes, bytes | None]:
    return record.who.encode(), None if record.word is None else record.word.encode()


def decode(key: bytes, value: bytes | None) -> Said | None:
    who = key.decode()
    return None if who == "unknown" else Said(who, None if value is None else value.decode())


class Place:
    """A shard over a log on a disk in memory, and what came of it.

    Args:
        disk: None: a new one.
        carry_out: of the shard; None: `effects` has the effects.
    """

    def __init__(
        self,
        disk: Disk | None = None,
        carry_out: Callable[[Shard[Any], Effect], None] | None = None,
    ) -> None:
        self.disk = disk or Disk()
        self.log: PartitionLog = open_log(self.disk, clean=False)
        self.effects: list[Effect] = []
        self.appends = 0
        self.shard = Shard(
            self.log,
            Words(),
            (encode, decode),
            ShardServices(LoopClock(), wake_fetches=self._wake_fetches),
            carry_out=carry_out or self._carry_out,
        )

    def _carry_out(self, shard: Shard[Any], effect: Effect) -> None:
        assert shard is self.shard
        self.effects.append(effect)

    def _wake_fetches(self, topic: str, partition: int) -> None:
        assert (topic, partition) == (self.log.topic, self.log.partition)
        self.appends += 1

    @property
    def machine(self) -> Words:
        return self.shard.machine

    def batches(self) -> list[Any]:
        end = self.log.log_end_offset
        if end == 0:
            return []
        data = self.log.read(0, max_bytes=1 << 20, up_to=end, min_one=True).records
        return [header for _, header in headers_in(data)]

    def restarted(self) -> Place:
        """The state that a new process loads after a SIGKILL."""
        place = Place(self.disk.after_kill())
        place.shard.load()
        return place


@pytest.fixture(name="place")
def new_place() -> Place:
    return Place()


def saying(*words: str, reply: Any = None, **more: Any) -> Callable[..., Outcome[Any]]:
    records = tuple(Said("me", word) for word in words)
    return lambda machine, now, *ticket: Outcome(reply, records, **more)


def refusing(machine: Words, now: Moment, *ticket: int) -> Outcome[Any]:
    raise Refused(Code.INVALID_REQUEST, "no")


def parking(machine: Words, now: Moment, ticket: int) -> Outcome[Any]:
    machine.waiting.append(ticket)
    return Outcome(PARKED)


@pytest.fixture
def log(log_lines: LogLines) -> LogLines:
    return log_lines.of("shard")


# Deciding


async def test_a_decision_is_appended_replayed_carried_out_and_replied() -> None:
    seen: list[tuple[int, int]] = []
    place = Place(
        carry_out=lambda shard, effect: seen.append(
            (place.log.log_end_offset, len(place.machine.words))
        )
    )
    reply = await place.shard.run(saying("a", "b", reply="done", effects=(Bell("x"),)))
    assert reply == "done"
    assert place.machine.words == [Said("me", "a"), Said("me", "b")]
    assert seen == [(2, 2)], "an effect finds the records in the log and replayed"
    assert place.appends == 1


async def test_the_records_of_a_decision_are_one_batch_of_the_time_it_was_made() -> None:
    place = Place()
    await asyncio.sleep(2)
    await place.shard.run(saying("a", "b", "c"))
    (header,) = place.batches()
    assert (header.record_count, header.base_timestamp_ms) == (3, START_MS + 2000)
    assert (header.is_transactional, header.producer_id) == (False, -1)


async def test_a_decision_is_given_the_machine_and_the_time(place: Place) -> None:
    await asyncio.sleep(0.5)
    given: list[Any] = []

    def decide(machine: Words, now: Moment) -> Outcome[None]:
        given.extend((machine, now))
        return Outcome(None)

    await place.shard.run(decide)
    assert given == [place.machine, Moment(START_MS + 500, 500)]


async def test_a_reply_without_records_appends_nothing(place: Place) -> None:
    assert await place.shard.run(saying(reply=5)) == 5
    assert (place.batches(), place.appends) == ([], 0)


async def test_a_refusal_changes_nothing(place: Place) -> None:
    await place.shard.run(saying("before"))
    with pytest.raises(Refused, match="INVALID_REQUEST: no"):
        await place.shard.run(refusing)
    assert place.machine.words == [Said("me", "before")]
    assert (place.log.log_end_offset, place.appends) == (1, 1)


async def test_records_that_the_log_refuses_are_not_replayed_and_their_effects_not_run() -> None:
    place = Place(Disk())
    await place.shard.run(saying("before"))
    place.disk.fail_at = place.disk.operations + 1
    with pytest.raises(Refused) as refused:
        await place.shard.run(saying("lost", effects=(Bell("lost"),)))
    assert refused.value.code == Code.NOT_COORDINATOR, "clients know no other trouble of one"
    assert (place.machine.words, place.effects) == ([Said("me", "before")], [])
    await place.shard.run(saying("after"))
    assert place.restarted().machine.words == [Said("me", "before"), Said("me", "after")]


async def test_an_answer_marked_send_even_if_not_logged_is_sent_after_a_refused_append() -> None:
    place = Place(Disk())
    sent_away, waits_on = (asyncio.create_task(place.shard.run_parked(parking)) for _ in range(2))
    await settle()
    one, two = place.machine.waiting
    place.disk.fail_at = place.disk.operations + 1
    effects = (
        Answer(one, "you are forgotten", send_even_if_not_logged=True),
        Answer(two, "it is logged"),
    )
    with pytest.raises(Refused):
        place.shard.run_now(saying("lost", effects=(*effects, Bell("lost"))))
    assert await sent_away == "you are forgotten"
    assert not waits_on.done()
    assert place.effects == []
    waits_on.cancel()


async def test_an_effect_may_decide_again() -> None:
    """The marker channel does: when the markers are written it tells the machine so."""

    def again(shard: Shard[Any], effect: Effect) -> None:
        shard.run_now(saying("second"))

    place = Place(carry_out=again)
    await place.shard.run(saying("first", effects=(Bell("x"),)))
    assert [said.word for said in place.machine.words] == ["first", "second"]


async def test_asking_reads_the_machine(place: Place) -> None:
    await place.shard.run(saying("a"))
    assert place.shard.ask(lambda machine: len(machine.words)) == 1


# Parking


async def test_a_parked_request_gets_the_reply_of_its_ticket(place: Place) -> None:
    first = asyncio.ensure_future(place.shard.run_parked(parking))
    second = asyncio.ensure_future(place.shard.run_parked(parking))
    await settle()
    one, two = place.machine.waiting
    assert one != two
    await place.shard.run(saying("a", effects=(Answer(two, "for the second"),)))
    await settle()
    assert (first.done(), await second) == (False, "for the second")
    await place.shard.run(saying(effects=(Answer(one, "for the first"), Answer(two, "again"))))
    assert await first == "for the first"
    assert place.effects == [], "answers are nobody else's business"


async def test_a_decision_that_does_not_park_is_replied_at_once(place: Place) -> None:
    assert await place.shard.run_parked(saying("a", reply="now")) == "now"
    assert place.shard._parked_requests == {}


async def test_a_decision_may_park_and_answer_itself(place: Place) -> None:
    """The last member to join a group completes the join: its own ticket is among the answers."""
    assert await place.shard.run_parked(
        lambda machine, now, ticket: Outcome(PARKED, effects=(Answer(ticket, "joined"),))
    ) == "joined"  # fmt: skip


async def test_a_refused_request_does_not_wait(place: Place) -> None:
    with pytest.raises(Refused):
        await place.shard.run_parked(refusing)
    assert place.shard._parked_requests == {}


async def test_a_cancelled_request_is_forgotten_and_its_answer_dropped(place: Place) -> None:
    parked = asyncio.ensure_future(place.shard.run_parked(parking))
    await settle()
    parked.cancel()
    await settle()
    assert place.shard._parked_requests == {}
    (ticket,) = place.machine.waiting
    await place.shard.run(saying("a", effects=(Answer(ticket, "nobody there"),)))


async def test_an_answer_and_a_cancellation_in_one_turn_do_not_collide(place: Place) -> None:
    parked = asyncio.ensure_future(place.shard.run_parked(parking))
    await settle()
    parked.cancel()
    (ticket,) = place.machine.waiting
    place.shard.run_now(saying(effects=(Answer(ticket, "too late"),)))
    await settle()
    assert parked.cancelled()


async def test_an_answer_may_be_falsy(place: Place) -> None:
    parked = asyncio.ensure_future(place.shard.run_parked(parking))
    await settle()
    await place.shard.run(saying(effects=(Answer(place.machine.waiting[0], None),)))
    assert await parked is None


# Time


async def test_the_machine_ticks_at_its_deadline_and_not_before(place: Place) -> None:
    await place.shard.run(saying("alarm 1500"))
    await asyncio.sleep(1.4)
    assert place.machine.ticks == []
    await asyncio.sleep(0.2)
    assert place.machine.ticks == [1500]
    assert place.effects == [Bell("alarm")]
    assert place.machine.words[-1] == Said("clock", "quiet")


async def test_the_timer_follows_the_deadline_wherever_it_moves(place: Place) -> None:
    for word, moment in (("alarm 5000", 0.0), ("alarm 3000", 1.0), ("alarm 9000", 2.0)):
        await asyncio.sleep(moment - asyncio.get_running_loop().time())
        await place.shard.run(saying(word))
    await asyncio.sleep(20)
    assert place.machine.ticks == [9000]
    await place.shard.run(saying("alarm 30000"))
    await place.shard.run(saying("quiet"))
    await asyncio.sleep(60)
    assert len(place.machine.ticks) == 1


async def test_a_deadline_that_is_past_ticks_in_the_next_turn(place: Place) -> None:
    await asyncio.sleep(5)
    await place.shard.run(saying("alarm 1000"))
    await settle()
    assert place.machine.ticks == [5000]


async def test_due_timers_run_before_a_request_even_if_the_loop_is_late(place: Place) -> None:
    await place.shard.run(saying("alarm 1000"))
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.jump(1.5)  # something else took the loop's time
    await place.shard.run(saying("late"))
    assert [said.word for said in place.machine.words] == ["alarm 1000", "quiet", "late"]
    await asyncio.sleep(5)
    assert place.machine.ticks == [1500]


async def test_a_tick_answers_waiting_requests(place: Place) -> None:
    await place.shard.run(saying("alarm 1000"))
    assert await place.shard.run_parked(parking) == "alarm"
    assert asyncio.get_running_loop().time() == 1


async def test_a_refused_tick_is_retried_each_second_and_logged_once(
    log: LogLines, place: Place
) -> None:
    place.machine.refuses_to_tick = True
    await place.shard.run(saying("alarm 1000"))
    await asyncio.sleep(1.5)
    for _ in range(20):  # requests that come meanwhile do not make it more often
        await place.shard.run(saying("a"))
        await settle()
    await asyncio.sleep(2)
    assert place.machine.ticks == [1000, 2000, 3000]
    assert [level for level, _, _ in log.lines] == ["error"]
    assert place.shard.failing_timer is not None
    place.machine.refuses_to_tick = False
    await asyncio.sleep(1)
    assert place.effects == [Bell("alarm")]
    assert place.shard.failing_timer is None
    assert [level for level, _, _ in log.lines] == ["error", "warning"], "and that it works again"


async def test_a_tick_that_is_refused_is_not_tried_again_when_unloaded(log: LogLines) -> None:
    place = Place()
    place.machine.refuses_to_tick = True
    await place.shard.run(saying("alarm 1000"))
    await asyncio.sleep(1.5)
    place.shard.close()
    await asyncio.sleep(10)
    assert len(place.machine.ticks) == 1


def test_a_shard_loads_without_a_loop_and_ticks_after_its_first_request(place: Place) -> None:
    batch = build([encode(Said("me", "alarm 1000"))], timestamp_ms=START_MS)
    place.log.append(batch, now_ms=START_MS)
    place.shard.load()
    assert place.machine.alarm_ms == 1000

    async def later() -> None:
        await place.shard.run(saying("hello"))
        await asyncio.sleep(2)
        assert place.machine.ticks == [1000]

    with asyncio.Runner(debug=True, loop_factory=VirtualLoop) as runner:
        runner.run(later())


# Loading


async def test_a_restart_replays_the_same_records(place: Place) -> None:
    for word in ("a", "b", "alarm 1000"):
        await place.shard.run(saying(word, f"{word} again"[:7]))
    restarted = place.restarted()
    assert restarted.machine.words == place.machine.words
    assert (restarted.effects, restarted.appends) == ([], 0), "nothing is carried out anew"


async def test_a_log_larger_than_one_read_is_loaded_whole(place: Place) -> None:
    for number in range(50):
        await place.shard.run(saying(str(number)))
    later = Place(place.disk.after_kill())
    assert [*later.shard.load_in_slices(read_bytes=200)] == []
    assert later.machine.words == place.machine.words


async def test_tombstones_are_replayed_and_unknown_records_passed_over(place: Place) -> None:
    records: list[tuple[bytes | None, bytes | None]] = [
        (b"me", None), (b"unknown", b"x"), (b"me", b"a"), (None, b"keyless"),
    ]  # fmt: skip
    place.log.append(build(records, timestamp_ms=START_MS), now_ms=START_MS)
    place.shard.load()
    assert place.machine.words == [Said("me", None), Said("me", "a"), Said("", "keyless")]


async def test_transactional_records_are_pending_until_their_marker(place: Place) -> None:
    other = Producer(8, 3)
    await place.shard.run(saying("mine", producer=SHOP))
    await place.shard.run(saying("theirs", producer=other))
    assert place.machine.words == []
    pending = [(Said("me", "mine"), SHOP), (Said("me", "theirs"), other)]
    assert place.machine.pending == place.restarted().machine.pending == pending
    place.shard.write_marker(SHOP, commit=True, coordinator_epoch=0)
    place.shard.write_marker(other, commit=False, coordinator_epoch=0)
    for machine in (place.machine, place.restarted().machine):
        assert (machine.words, machine.pending) == ([Said("me", "mine")], [])
    kinds = [(header.is_transactional, header.is_control) for header in place.batches()]
    assert kinds == [(True, False), (True, False), (True, True), (True, True)]
    assert place.batches()[1].producer_epoch == 3
    assert place.appends == 2


async def test_a_fenced_marker_is_refused_and_not_replayed(place: Place) -> None:
    await place.shard.run(saying("mine", producer=Producer(7, 5)))
    place.shard.write_marker(Producer(7, 5), commit=True, coordinator_epoch=9)
    await place.shard.run(saying("more", producer=Producer(7, 5)))
    with pytest.raises(Refused) as refused:
        place.shard.write_marker(Producer(7, 5), commit=True, coordinator_epoch=8)
    assert refused.value.code == Code.TRANSACTION_COORDINATOR_FENCED
    assert place.machine.pending == [(Said("me", "more"), Producer(7, 5))]


class Letters:
    """A machine without pending records, as that of `__transaction_state`."""

    def __init__(self) -> None:
        self.letters: list[Said] = []

    def replay(self, record: Said) -> None:
        self.letters.append(record)

    def next_deadline(self, now: Moment) -> int | None:
        return None

    def tick(self, now: Moment) -> Generator[Outcome[None]]:
        yield from ()


async def test_a_transactional_batch_is_damage_in_a_log_without_pending_records() -> None:
    place = Place()
    await place.shard.run(saying("first"))
    await place.shard.run(saying("mine", producer=SHOP))
    services = ShardServices(LoopClock(), wake_fetches=lambda *_: None)
    other = Shard(place.log, Letters(), (encode, decode), services)
    with pytest.raises(Malformed, match="a transactional batch in orders"):
        other.load()
    assert other.machine.letters == [Said("me", "first")]


# Unloading


def assert_coordinates_nothing(place: Place) -> None:
    for act in (
        lambda: place.shard.run_now(saying("a")),
        lambda: place.shard.ask(lambda machine: machine.words),
        lambda: place.shard.write_marker(SHOP, commit=True, coordinator_epoch=0),
    ):
        with pytest.raises(Refused, match="NOT_COORDINATOR"):
            act()


async def test_an_unloaded_shard_coordinates_nothing(place: Place) -> None:
    await place.shard.run(saying("alarm 1000"))
    parked = asyncio.ensure_future(place.shard.run_parked(parking))
    await settle()
    place.shard.close()
    assert_coordinates_nothing(place)
    with pytest.raises(Refused, match="NOT_COORDINATOR"):
        await parked
    await asyncio.sleep(10)
    assert (place.machine.ticks, place.log.log_end_offset) == ([], 1)


async def test_a_shard_of_an_old_leader_epoch_decides_nothing_before_it_is_unloaded() -> None:
    place = Place()
    await place.shard.run(saying("alarm 1000"))
    place.log.leader_epoch += 1
    assert place.shard.is_closed
    assert_coordinates_nothing(place)
    await asyncio.sleep(10)
    assert (place.machine.ticks, place.log.log_end_offset) == ([], 1)


async def test_unloading_ignores_answered_requests(place: Place) -> None:
    parked = asyncio.ensure_future(place.shard.run_parked(parking))
    await settle()
    place.shard.run_now(saying(effects=(Answer(place.machine.waiting[0], "in time"),)))
    place.shard.close()
    assert await parked == "in time"
