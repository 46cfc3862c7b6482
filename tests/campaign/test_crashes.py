"""The power or the process fails at every file operation in turn; acknowledged data survive.

With `flush.messages=1`, all acknowledged data are there after the restart, the interrupted step is
complete or absent, and the script continues to its usual end. OTTLA_CAMPAIGN=full tries every point
several times; the default is a sample. A failure names its point, and
OTTLA_CAMPAIGN=power:OPERATION:SEED or kill:OPERATION:SEED repeats it. The operation may also be a
crash point: OTTLA_CAMPAIGN='power:marker appended 3:7'.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import pytest

from ottla.broker.crash_points import CRASH_POINTS, AfterPoint
from ottla.broker.events import Observer
from tests.campaign.crash_disk import CrashDisk
from tests.campaign.workload import Seen, World, agrees, seen, steps
from tests.storage.disk import PowerCut
from tests.storage.logs import NOW_MS

SCRIPT = steps()
MODE = os.environ.get("OTTLA_CAMPAIGN", "quick")
SEEDS = {"power": 3, "kill": 1}


# All points take minutes, so each test has a part of them.
PARTS = 16 if MODE == "full" else 1


def run(
    disk: CrashDisk,
    first: int = 0,
    *,
    watch: Callable[[World], None] | None = None,
    observer: Observer | None = None,
) -> int:
    """Run the script from a step; the number of completed steps.

    Args:
        watch: gets the world before the first step and after each step.
        observer: gets the broker's events; a PowerCut that it raises ends the run.
    """
    done = first
    try:
        world = World(disk, time_of(first))
        if observer is not None:
            world.events.add(observer)
        if watch is not None:
            watch(world)
        for step in SCRIPT[first:]:
            world.time_ms = time_of(done)
            step.do(world)
            world.refresh()
            done += 1
            world.answered(step.api_key)
            if watch is not None:
                watch(world)
        world.close()
    except PowerCut:
        return done
    return done + 1


def time_of(step: int) -> int:
    return NOW_MS + 100 * step


@cache
def undisturbed() -> tuple[list[Seen], int]:
    """The views before the first step and after each step, and the number of operations."""
    disk = CrashDisk()
    views: list[Seen] = []
    done = run(disk, watch=lambda world: views.append(seen(world)))
    assert done == len(SCRIPT) + 1
    return views, disk.operations


@cache
def reached() -> Counter[str]:
    """The number of times that the script reaches each crash point."""
    counts: Counter[str] = Counter()

    def count(event: Any) -> None:
        counts.update(name for name, ends in CRASH_POINTS.items() if ends(event))

    run(CrashDisk(), observer=count)
    return counts


def named_points() -> list[tuple[str, str, int]]:
    """Kind of crash, crash point and seed of each test."""
    if ":" in MODE:
        return []
    chosen = Random(11)
    places = [
        f"{name} {count}"
        for name, most in sorted(reached().items())
        for count in (
            range(1, most + 1) if MODE == "full" else {chosen.randint(1, most), min(3, most)}
        )
    ]
    return [(how, place, chosen.randrange(1000)) for how in SEEDS for place in places]


def points() -> list[tuple[str, int | str, int]]:
    """Kind of crash, operation or crash point, and seed of each test."""
    if ":" in MODE:
        how, place, seed = MODE.split(":")
        return [(how, int(place) if place.isdigit() else place, int(seed))]
    operations = undisturbed()[1]
    if MODE == "full":
        return [
            (how, operation, seed)
            for operation in range(1, operations + 1)
            for how, seeds in SEEDS.items()
            for seed in range(seeds)
        ]
    chosen = Random(7)
    return [
        (how, chosen.randrange(1, operations + 1), chosen.randrange(1000))
        for how in ("power", "power", "kill")
        for _ in range(12)
    ]


def crash() -> None:
    raise PowerCut


def check(how: str, place: int | str, seed: int) -> None:
    """Crash the script at a point, restart, compare, go on, restart cleanly, compare again.

    Args:
        place: the number of an operation, or a crash point and its count.
    """
    views, _ = undisturbed()
    if isinstance(place, int):
        disk = CrashDisk(cut_at=place, seed=seed)
        done = run(disk)
    else:
        disk = CrashDisk(seed=seed)
        point, _, count = place.rpartition(" ")
        done = run(disk, observer=AfterPoint(point, int(count), crash))
        assert done <= len(SCRIPT), f"{place} is not reached"
        disk.on_event = None
    left = disk.reboot(power_cut=how == "power")
    now_ms = time_of(done)
    world = World(left, now_ms)
    found = seen(world)
    # A partial write may look like a damaged batch.
    damages = [one for one in world.damages if how == "kill" or "not synced" not in one.why]
    assert not damages, damages
    last = len(SCRIPT)
    before, after = views[min(done, last)], views[min(done + 1, last)]
    assert agrees(found, before, after) or agrees(found, after, before), difference(
        found, before, after
    )
    assert seen(World(left.reboot(power_cut=False), now_ms)) == found, "another restart"
    first = done if agrees(found, before, after) else done + 1
    if first > done and SCRIPT[done].again:
        SCRIPT[done].do(world)
        assert seen(world) == found, "a retry changed something"
    if first < last:
        again = left.reboot(power_cut=False)
        run(again, first)
        left = again
    again_world = World(left.reboot(power_cut=False), time_of(last))
    ended = seen(again_world)
    assert agrees(ended, views[last], views[last]), difference(ended, views[last], views[last])


def difference(found: Seen, before: Seen, after: Seen) -> str:
    lines = ["neither before nor after the step:"]
    for name in found.keys() | before.keys() | after.keys():
        values = [view.get(name) for view in (found, before, after)]
        if values[0] not in values[1:]:
            lines += [f"{name}:"] + [f"  {value}" for value in values]
    return "\n".join(lines)


def test_the_script_uses_every_kind_of_operation() -> None:
    views, operations = undisturbed()
    assert operations > 300
    assert len(views) == len(SCRIPT) + 1
    assert views[-1]["orders-0"]["start"] > 0
    assert views[-1]["table-0"]["table"] == {b"k1": b"v7", b"k2": b"v8"}
    assert views[-1]["__share_group_state-0"]["start"] > 0, "the log of share states is pruned"


def test_the_workload_replaces_the_start_of_the_metadata_log_with_a_snapshot() -> None:
    disk = CrashDisk()
    run(disk)
    log = World(disk.reboot(power_cut=False), time_of(len(SCRIPT))).metadata_log.log
    assert log.segments[0].base_offset > 0
    snapshots = [path for path in disk.files if path.endswith("-0000000001.checkpoint")]
    assert len(snapshots) == 1


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("how", ["power", "kill"])
def test_acknowledged_records_survive_a_crash_at_any_step(how: str, part: int) -> None:
    mine = [point for point in points() if point[0] == how][part::PARTS]
    for kind, operation, seed in mine:
        try:
            check(kind, operation, seed)
        except Exception as wrong:
            again = f"OTTLA_CAMPAIGN='{kind}:{operation}:{seed}' pytest tests/campaign"
            raise AssertionError(f"repeat it with {again}") from wrong


def test_the_script_reaches_every_crash_point() -> None:
    assert reached().keys() == CRASH_POINTS.keys()
    assert reached()["marker appended"] == 9
    ended = ("prepare appended", "prepare answered", "complete appended", "offsets materialized")
    assert [reached()[name] for name in ended] == [3, 3, 3, 3]


@pytest.mark.parametrize(("how", "place", "seed"), named_points())
def test_acknowledged_data_are_there_after_a_crash_at_a_named_point(
    how: str, place: str, seed: int
) -> None:
    check(how, place, seed)
