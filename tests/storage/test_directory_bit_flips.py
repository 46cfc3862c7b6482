"""A bit turned in a file of the data directory: the broker's logs are all there, or the file named.

The directory is opened as a broker opens it: its own files, the metadata log, each partition.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from ottla.protocol.errors import Malformed, Refused
from ottla.storage.log_directory import WrongDirectory
from tests.campaign.crash_disk import CrashDisk
from tests.campaign.workload import World, seen, steps
from tests.storage.logs import NOW_MS

FILES = (
    "meta.properties",
    "partition.metadata",
    "-offset-checkpoint",
    "quorum-state",
    "__cluster_metadata-0/00000000000000000000.log",
    "__consumer_offsets-0/00000000000000000000.log",
)
EVERY_BIT = bool(os.environ.get("OTTLA_EVERY_BIT"))


@pytest.fixture(scope="module")
def stopped() -> CrashDisk:
    disk = CrashDisk()
    world = World(disk, NOW_MS)
    for step in steps()[:40]:
        step.do(world)
        world.refresh()
    world.close()
    return disk


@pytest.mark.parametrize("suffix", FILES)
def test_a_turned_bit_costs_nothing_or_is_told_with_the_name(
    stopped: CrashDisk, suffix: str
) -> None:
    expected = seen(World(stopped.reboot(power_cut=False), NOW_MS))
    paths = [path for path in sorted(stopped.files) if path.endswith(suffix)]
    assert paths
    for path in paths:
        chosen = Random(path)
        size = stopped.size(path)
        places = range(size) if EVERY_BIT else chosen.sample(range(size), min(size, 40))
        for position in places:
            disk = stopped.reboot(power_cut=False)
            disk.files[path].data[position] ^= 1 << chosen.randrange(8)
            told = outcome(disk, expected)
            assert told is None or os.path.basename(path) in told, (path, position, told)


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
