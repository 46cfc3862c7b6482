"""Directories in which a swap of compacted segments was caught, as Kafka or we leave them."""

from __future__ import annotations

import pytest

from ottla.storage.recovery.swaps import finish_swaps
from tests.protocol.placing import place
from tests.storage.disk import Disk
from tests.storage.logs import batch

OLD, NEW = b"old", b"new"


def name(base_offset: int, suffix: str) -> str:
    return f"{base_offset:020d}{suffix}"


def directory_of(*names: str, data: bytes = b"") -> Disk:
    disk = Disk()
    disk.make_directory("d")
    for each in names:
        descriptor = disk.open(f"d/{each}")
        content = data if each.endswith(".log.swap") else NEW if each.endswith(".swap") else OLD
        disk.append(descriptor, content)
        disk.close(descriptor)
    return disk


def finished(disk: Disk) -> dict[str, bytes]:
    """Content by name; it also compares what later reads of the directory return."""
    names = finish_swaps(disk, "d", disk.names_in("d"))
    assert sorted(names) == disk.names_in("d")
    return {each: disk.read(f"d/{each}") for each in names}


def batches(*offsets: int) -> bytes:
    data = b""
    for offset in offsets:
        one = batch(key=b"k")
        place(one, base_offset=offset, leader_epoch=0)
        data += one
    return data


def test_an_unfinished_swap_is_removed() -> None:
    disk = directory_of(name(0, ".log"), name(0, ".log.cleaned"), name(0, ".index.cleaned"))
    assert finished(disk) == {name(0, ".log"): OLD}


@pytest.mark.parametrize("unfinished", [".log", ".txnindex"])
def test_a_swap_of_which_a_part_was_never_finished_goes(unfinished: str) -> None:
    disk = directory_of(
        name(0, ".log"), name(5, ".log"), name(5, ".index.swap"), name(5, unfinished + ".cleaned")
    )
    assert finished(disk) == {name(0, ".log"): OLD, name(5, ".log"): OLD}


def test_a_swap_replaces_all_segments_that_it_contains() -> None:
    data = batches(5, 11)
    disk = directory_of(
        name(0, ".log"), name(5, ".log"), name(5, ".index"), name(5, ".log.swap"),
        name(5, ".index.swap"), name(8, ".log"), name(8, ".txnindex"), name(8, ".snapshot"),
        name(11, ".timeindex"), name(12, ".log"), data=data,
    )  # fmt: skip
    assert finished(disk) == {
        name(0, ".log"): OLD, name(5, ".log"): data, name(5, ".index"): NEW,
        name(8, ".snapshot"): OLD, name(12, ".log"): OLD,
    }  # fmt: skip


def test_the_last_files_of_a_swap_are_renamed_too() -> None:
    disk = directory_of(name(5, ".log"), name(5, ".txnindex.swap"), name(5, ".index"))
    assert finished(disk) == {
        name(5, ".log"): OLD, name(5, ".txnindex"): NEW, name(5, ".index"): OLD
    }  # fmt: skip


def test_a_directory_without_a_swap_is_not_looked_at_twice() -> None:
    disk = directory_of(name(0, ".log"))
    disk.names_in = None  # type: ignore[assignment, method-assign]  # the test changes its fake disk
    assert finish_swaps(disk, "d", [name(0, ".log")]) == [name(0, ".log")]
