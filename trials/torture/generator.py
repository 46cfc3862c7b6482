"""Makes schedules from a seed: single sharp steps first, and random ones of several steps between.

Pure: the same seed, profile and base give the same schedules in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from random import Random
from typing import Final, NamedTuple

from msgspec.structs import replace

from .schedule import (
    AFTER,
    APIS,
    BEFORE,
    ERRORS,
    EXPELLED,
    FIRST_VERSIONS,
    HAZARDS,
    OF_PROCESSES,
    REPLACED,
    TIMED_OUT,
    At,
    Data,
    Schedule,
    ScheduleStep,
)

_LAST_NTH: Final = 3
_HIGHEST_NTH: Final = {
    "InitProducerId": 1, "ListOffsets": 1, "Heartbeat": 1, "LeaveGroup": 0, "JoinGroup": 2,
    "SyncGroup": 2, "OffsetFetch": 2, "FindCoordinator": 2, "Metadata": 2,
}  # fmt: skip
"""Requests that a process sends rarely: later ones seldom come. It leaves its group at the end."""
_RANDOM_EACH: Final = 3
"""Every so many schedules one is random, while single steps are left."""
_OF_PROTOCOLS: Final = frozenset(
    {
        "EndTxn", "TxnOffsetCommit", "AddOffsetsToTxn", "AddPartitionsToTxn", "OffsetCommit",
        "JoinGroup", "SyncGroup", "Heartbeat", "ConsumerGroupHeartbeat", "InitProducerId", "Fetch",
        "OffsetFetch", "LeaveGroup", "ListOffsets", "ShareFetch", "ShareAcknowledge",
        "ShareGroupHeartbeat",
    }
)  # fmt: skip
"""APIs that an application of one kind has and another one has not."""
_WITH_OTHERS: Final = frozenset(OF_PROCESSES) - {"fence"}
"""Actions of which single steps need other copies, which take over."""
_MOST_RECORDS: Final = 24


class Profile(NamedTuple):
    """Which kind of application it is, from the requests of its first, calm run.

    Attributes:
        apis: the APIs that it used, with the highest versions.
    """

    apis: Mapping[str, int]

    def fits(self, step: ScheduleStep) -> bool:
        """Whether such a request, and such an error, can come."""
        api = step.at.api
        if api == "Heartbeat":
            return "JoinGroup" in self.apis
        if api in _OF_PROTOCOLS and api not in self.apis:
            return False
        first = FIRST_VERSIONS.get((api, step.code), 0)
        return api not in self.apis or self.apis[api] >= first


def schedules(
    seed: int,
    profile: Profile,
    base: Schedule,
    *,
    most_steps: int = 3,
    hazards: bool = False,
    without: Collection[str] = (),
) -> Iterator[Schedule]:
    """Schedules without end: the calm one is not among them.

    Args:
        base: copies and data of single steps, but of faults at requests, which get one copy;
            random schedules vary the data.
        most_steps: of a random schedule.
        hazards: whether requests may also arrive late, or twice.
        without: actions that do not happen.
    """
    random = Random(seed)
    copies = base.copies

    def fits(step: ScheduleStep) -> bool:
        return step.do not in without and profile.fits(step)

    first = [each for each in _sharp() if fits(each)]
    rest = [each for each in _all_steps(hazards) if fits(each) and each not in first]
    random.shuffle(first)
    random.shuffle(rest)
    singles = iter([*first, *rest])
    count = 0
    while True:
        count += 1
        step = None if count % _RANDOM_EACH == 0 else next(singles, None)
        if step is not None:
            # A copy that is stuck alone is not replaced by another one.
            some = copies if step.do in _WITH_OTHERS else 1
            at = replace(step.at, copy=random.randint(1, some))
            yield replace(base, copies=some, steps=(replace(step, at=at),))
            continue
        many = random.randint(min(2, most_steps), most_steps)
        steps = tuple(_drawn(random, random.sample([*first, *rest], many), copies))
        yield replace(base, data=_data(random, base.data), steps=steps)


def _drawn(random: Random, steps: list[ScheduleStep], copies: int) -> Iterator[ScheduleStep]:
    """The steps at requests of some copy, each at another one."""
    taken = set()
    for each in steps:
        at = replace(
            each.at,
            copy=random.randint(1, copies),
            nth=random.randint(1, _HIGHEST_NTH.get(each.at.api, _LAST_NTH)),
        )
        if (at.api, at.nth, at.copy) not in taken:
            taken.add((at.api, at.nth, at.copy))
            yield replace(each, at=at)


def _data(random: Random, base: Data) -> Data:
    records = random.randint(3, max(3, min(_MOST_RECORDS, 2 * base.records)))
    return Data(
        records=records,
        aborted=random.randint(0, base.aborted * 2),
        partitions=random.randint(1, base.partitions + 1),
        output_partitions=random.randint(1, base.output_partitions + 1),
        transactional=random.random() < 0.5,
        portions=random.randint(1, min(4, records)),
    )


def _sharp() -> Iterator[ScheduleStep]:
    """What finds the usual mistakes, at the first and at the second request."""
    for nth in (1, 2):
        for api in ("TxnOffsetCommit", "Produce", "EndTxn"):
            yield _step("error", api, nth, code="TRANSACTION_ABORTABLE")
        yield _step("error", "TxnOffsetCommit", nth, code="ILLEGAL_GENERATION")
        for api, point in (
            ("Produce", BEFORE), ("EndTxn", BEFORE), ("EndTxn", AFTER), ("OffsetCommit", AFTER),
            ("OffsetCommit", BEFORE),
        ):  # fmt: skip
            yield _step("kill", api, nth, point)
        for api in ("Produce", "TxnOffsetCommit", "EndTxn", "OffsetCommit"):
            yield _step("pause", api, nth, meanwhile=EXPELLED)
        for api in ("Produce", "TxnOffsetCommit", "EndTxn"):
            yield _step("fence", api, nth)
        yield _step("drop_answer", "Produce", nth)
        for point in (BEFORE, AFTER):
            yield _step("kill", "ShareAcknowledge", nth, point)
        yield _step("pause", "ShareAcknowledge", nth, meanwhile=TIMED_OUT)
        yield _step("drop_answer", "ShareFetch", nth)
    yield _step("start", "Produce", 1)
    yield _step("start", "Fetch", 2)
    yield _step("stop", "Produce", 2)


def _all_steps(hazards: bool) -> Iterator[ScheduleStep]:
    for nth in range(1, _LAST_NTH + 1):
        for api in APIS:
            if nth > _HIGHEST_NTH.get(api, _LAST_NTH):
                continue
            yield from _of_api(api, nth)
            if hazards:
                for do in HAZARDS:
                    yield _step(do, api, nth)


def _of_api(api: str, nth: int) -> Iterator[ScheduleStep]:
    for code in ERRORS.get(api, ()):
        yield _step("error", api, nth, code=code)
    for do in ("drop_answer", "drop_request", "delay"):
        yield _step(do, api, nth)
    if api in ("FindCoordinator", "Metadata", "ListOffsets"):
        return
    yield _step("kill", api, nth)
    yield _step("kill", api, nth, AFTER)
    for meanwhile in (EXPELLED, REPLACED, TIMED_OUT):
        yield _step("pause", api, nth, meanwhile=meanwhile)
    yield _step("stop", api, nth)
    yield _step("start", api, nth)
    yield _step("crash", api, nth)
    yield _step("crash", api, nth, AFTER)
    if api in ("Produce", "Fetch", "ShareFetch", "ShareAcknowledge"):
        yield _step("move_leader", api, nth)
        yield _step("throttle", api, nth)
    else:
        yield _step("move_coordinator", api, nth)
    if api in ("Produce", "EndTxn", "TxnOffsetCommit", "AddOffsetsToTxn", "AddPartitionsToTxn"):
        yield _step("fence", api, nth)
        yield _step("jump", api, nth)


def _step(
    do: str, api: str, nth: int, point: str = BEFORE, *, code: str = "",
    meanwhile: str = "",
) -> ScheduleStep:  # fmt: skip
    return ScheduleStep(do=do, at=At(api=api, nth=nth, point=point), code=code, meanwhile=meanwhile)
