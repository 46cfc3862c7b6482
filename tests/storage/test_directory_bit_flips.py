"""A bit turned in a file of the data directory: the broker's logs are all there, or the file named.

The directory is opened as a broker opens it: its own files, the metadata log, each partition.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from fnmatch import fnmatch
from random import Random

import pytest

from ottla.protocol.errors import Malformed, Refused
from ottla.storage.disk.meta_properties import WrongDirectory
from tests.campaign.crash_disk import CrashDisk
from tests.campaign.workload import World, seen, steps
from tests.storage.logs import NOW_MS

FILES = (
    "meta.properties",
    "partition.metadata",
    "-checkpoint",
    "quorum-state",
    "__cluster_metadata-0/*.log",
    "__cluster_metadata-0/*.checkpoint",
    "__consumer_offsets-0/*.log",
)
EVERY_BIT = bool(os.environ.get("OTTLA_EVERY_BIT"))
LAST = "filler 4"  # two epochs, and records that are deleted but still in their file


def lived(*, clean: bool) -> CrashDisk:
    disk = CrashDisk()
    world = World(disk, NOW_MS)
    for step in steps():
        step.do(world)
        world.refresh()
        if step.name == "commit offset":
            world.log("orders").leader_epoch = 1
        if step.name == LAST:
            break
    start = world.log("orders").log_start_offset
    assert start == 6, "a number that no file's name tells"
    if clean:
        world.close()
    return disk


@pytest.fixture(scope="module")
def stopped() -> CrashDisk:
    return lived(clean=True)


@pytest.fixture(scope="module")
def killed() -> CrashDisk:
    return lived(clean=False)


def places(disk: CrashDisk, path: str) -> Iterator[tuple[int, int]]:
    """Positions in a file, and what to turn there."""
    chosen, size = Random(path), disk.size(path)
    for position in range(size) if EVERY_BIT else chosen.sample(range(size), min(size, 20)):
        yield position, 1 << chosen.randrange(8)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_loses_nothing_or_is_reported_with_the_file(
    stopped: CrashDisk, name: str
) -> None:
    turn_all(stopped, name)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_after_a_kill_loses_nothing_or_is_reported(
    killed: CrashDisk, name: str
) -> None:
    turn_all(killed, name)


def test_a_flipped_bit_in_the_metadata_log_after_a_kill_loses_no_topic() -> None:
    """Nothing can be torn while the machine runs on: the start is refused, and changes nothing."""
    killed = CrashDisk()
    world = World(killed, NOW_MS)
    for number in range(4):
        world.create(f"topic{number}", 1)
    whole = seen(World(killed.reboot(power_cut=False), NOW_MS))
    paths = [path for path in killed.files if fnmatch(path, "*/__cluster_metadata-0/*.log")]
    refusals = 0
    for path in paths:
        for position, bit in places(killed, path):
            disk = killed.reboot(power_cut=False)
            disk.files[path].data[position] ^= bit
            size = disk.size(path)
            found, told = None, os.path.basename(path)
            try:
                found = seen(World(disk, NOW_MS))
            except Refused as refused:
                told = str(refused)
            refusals += found is None
            assert os.path.basename(path) in told
            assert disk.size(path) >= size, "cut"
            assert found is None or found["topics"] == whole["topics"], (path, position, bit)
            assert not [each for each in disk.directories if each.endswith("-stray")]
    assert refusals > 5


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_an_unreadable_checkpoint_loses_nothing_and_is_logged(
    how: str, request: pytest.FixtureRequest
) -> None:
    left: CrashDisk = request.getfixturevalue(how)
    expected = seen(World(left.reboot(power_cut=False), NOW_MS))
    paths = [path for path in sorted(left.files) if path.endswith("-checkpoint")]
    assert len(paths) > 4
    for path in paths:
        disk = left.reboot(power_cut=False)

        def broken(asked: str, path: str = path, disk: CrashDisk = disk) -> bytes:
            if asked == path:
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)
            return CrashDisk.read(disk, asked)

        disk.read = broken  # type: ignore[method-assign]  # the test changes its fake disk
        world = World(disk, NOW_MS)
        assert seen(world) == expected, path
        (told,) = world.damages
        assert str(told).startswith(f"{path}: the file cannot be read (Input/output")


def turn_all(left: CrashDisk, name: str) -> None:
    expected = seen(World(left.reboot(power_cut=False), NOW_MS))
    paths = [path for path in sorted(left.files) if fnmatch(path, f"*{name}")]
    assert paths
    for path in paths:
        for position, bit in places(left, path):
            disk = left.reboot(power_cut=False)
            disk.files[path].data[position] ^= bit
            told = outcome(disk, expected)
            assert told is None or os.path.basename(path) in told, (path, position, told)


@pytest.mark.parametrize(
    "name", ["log-start-offset-checkpoint", "orders-0/leader-epoch-checkpoint"]
)
def test_a_flipped_bit_in_a_checkpoint_without_a_checksum_is_logged(
    stopped: CrashDisk, name: str
) -> None:
    path = f"data/{name}"
    stopped = stopped.reboot(power_cut=False)
    for each, file in stopped.files.items():
        if each.endswith("-checkpoint"):
            file.data[:] = file.data.rstrip() + b"\n"
    expected = seen(World(stopped.reboot(power_cut=False), NOW_MS))
    assert expected["orders-0"]["start"] == 6
    for position, bit in places(stopped, path):
        disk = stopped.reboot(power_cut=False)
        disk.files[path].data[position] ^= bit
        told = outcome(disk, expected)
        assert told is None or os.path.basename(path) in told, (position, bit, told)


def outcome(disk: CrashDisk, expected: object) -> str | None:
    """None when all is as it was; else what was said about it, at the start or in a read."""
    try:
        world = World(disk, NOW_MS)
        found = seen(world)
    except (Refused, Malformed, WrongDirectory) as refused:
        return str(refused)
    if found == expected:
        return None
    return "; ".join(map(str, world.damages)) or f"nothing was said: {found}"
