"""Finds the fewest steps and the least data that still fail (delta debugging, ddmin of Zeller).

Pure: the caller replays candidates and says whether they fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from .schedule import WITH_MS, Data, Schedule, ScheduleStep

Fails = Callable[[Schedule], bool]


def shrunk(failing: Schedule, fails: Fails, is_over: Callable[[], bool]) -> Schedule:
    """The smallest schedule found.

    Args:
        failing: it fails.
        fails: replays a schedule, and says whether it fails in the same way.
        is_over: whether to stop, with the smallest one until then.
    """
    seen: set[Schedule] = {failing}

    def is_smaller(candidate: Schedule) -> bool:
        if candidate in seen or is_over():
            return False
        seen.add(candidate)
        return fails(candidate)

    best = replace(failing, steps=_fewest(failing, is_smaller))
    # Most failures need one record only, and so few replays.
    best = next((each for each in _least(best) if is_smaller(each)), best)
    changed = True
    while changed and not is_over():
        changed = False
        for candidate in _simpler(best):
            if is_smaller(candidate):
                best, changed = candidate, True
                break
    return best


def _fewest(failing: Schedule, fails: Fails) -> tuple[ScheduleStep, ...]:
    """The steps that are left by ddmin."""
    steps: Sequence[ScheduleStep] = failing.steps
    if steps and fails(replace(failing, steps=())):
        return ()
    parts = 2
    while len(steps) > 1:
        size = max(1, len(steps) // parts)
        chunks = [steps[begin : begin + size] for begin in range(0, len(steps), size)]
        candidates = [*chunks, *(_without(chunks, at) for at in range(len(chunks)))]
        found = next(
            (each for each in candidates if fails(replace(failing, steps=tuple(each)))), None
        )
        if found is not None:
            parts = max(parts - 1, 2) if len(found) > size else 2
            steps = found
        elif parts >= len(steps):
            break
        else:
            parts = min(len(steps), 2 * parts)
    return tuple(steps)


def _without(chunks: Sequence[Sequence[ScheduleStep]], left_out: int) -> tuple[ScheduleStep, ...]:
    return tuple(
        step for number, chunk in enumerate(chunks) if number != left_out for step in chunk
    )


def _least(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule with the least data, for one copy and for as many as it has."""
    data = replace(
        schedule.data, records=1, aborted=0, partitions=1, output_partitions=1,
        transactional=False, portions=1,
    )  # fmt: skip
    if schedule.copies > 1:
        yield replace(_with_copies(schedule, 1), data=data)
    yield replace(schedule, data=data)


def _with_copies(schedule: Schedule, copies: int) -> Schedule:
    steps = tuple(
        replace(each, at=replace(each.at, copy=min(each.at.copy, copies)))
        for each in schedule.steps
    )
    return replace(schedule, copies=copies, steps=steps)


def _simpler(schedule: Schedule) -> Iterator[Schedule]:
    """Schedules with one thing less, the greatest differences first."""
    if schedule.copies > 1:
        yield _with_copies(schedule, schedule.copies - 1)
    for number, step in enumerate(schedule.steps):
        for simpler in _simpler_step(step):
            steps = (*schedule.steps[:number], simpler, *schedule.steps[number + 1 :])
            yield replace(schedule, steps=steps)
    for data in _simpler_data(schedule.data):
        yield replace(schedule, data=data)


def _simpler_data(data: Data) -> Iterator[Data]:
    if data.aborted:
        yield replace(data, aborted=0)
        if data.aborted > 1:
            yield replace(data, aborted=1)
    if data.transactional:
        yield replace(data, transactional=False)
    for name in ("partitions", "output_partitions", "portions"):
        value = getattr(data, name)
        if value > 1:
            yield replace(data, **{name: 1})
            if value > 2:
                yield replace(data, **{name: value - 1})
    for records in (1, 2, data.records // 2, data.records - 1):
        if 1 <= records < data.records:
            yield replace(data, records=records, portions=min(data.portions, records))


def _simpler_step(step: ScheduleStep) -> Iterator[ScheduleStep]:
    for nth in range(1, step.at.nth):
        yield replace(step, at=replace(step.at, nth=nth))
    if step.at.copy > 1:
        yield replace(step, at=replace(step.at, copy=1))
    if step.do in WITH_MS and step.ms:
        yield replace(step, ms=0)
