"""Deleted files are removed beside the requests."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

from ottla.broker.upkeep.removals import Removals
from ottla.storage.disk.files import RealFiles
from tests.broker.one_node import OneNode
from tests.log_lines import LogLines
from tests.storage.disk import Disk

PATIENCE_S = 10.0


class SlowFiles(RealFiles):
    """Removes a file at a call of the test."""

    def __init__(self) -> None:
        self.may_remove = threading.Event()
        self.is_removing = threading.Event()

    def remove(self, path: str, /) -> None:  # type: ignore[override]  # in RealFiles a function of os
        self.is_removing.set()
        assert self.may_remove.wait(PATIENCE_S)
        os.unlink(path)


def doomed(directory: Path, *names: str) -> str:
    """A directory with files in it."""
    directory.mkdir()
    for name in names:
        (directory / name).touch()
    return str(directory)


def run(test: Callable[[], None]) -> None:
    """In an event loop."""

    async def body() -> None:
        test()

    asyncio.run(body())


def test_removals_run_in_the_background_and_a_stop_waits_for_one_file_at_most(
    tmp_path: Path,
) -> None:
    files = SlowFiles()
    removals = Removals(files)
    path = doomed(tmp_path / "a", "1", "2", "3")
    run(lambda: removals.directory(path))
    assert files.is_removing.wait(PATIENCE_S)
    assert len(os.listdir(path)) == 3
    closing = threading.Thread(target=removals.close)
    closing.start()
    while closing.is_alive() and not removals.is_closed:
        pass
    files.may_remove.set()
    closing.join()
    assert len(os.listdir(path)) == 2


def test_removals_tolerate_missing_files(tmp_path: Path) -> None:
    removals = Removals(RealFiles())
    one, two = (doomed(tmp_path / name, "1", "2") for name in "ab")

    def ask() -> None:
        removals.directory(one)
        removals.paths([f"{two}/1", f"{two}/missing", f"{two}/2"])
        removals.paths([])
        removals.directory(two)

    run(ask)
    removals.finish()
    assert os.listdir(tmp_path) == []
    removals.close()
    removals.directory(doomed(tmp_path / "c", "1"))  # no removal runs any more
    assert os.listdir(tmp_path / "c") == ["1"]


def test_a_removed_link_leaves_its_target_and_names_it(tmp_path: Path, log_lines: LogLines) -> None:
    target = Path(doomed(tmp_path / "elsewhere", "1"))
    link = tmp_path / "orders-0.0-delete"
    link.symlink_to(target)
    removals = Removals(RealFiles())
    run(lambda: removals.directory(str(link)))
    removals.finish()
    assert not link.is_symlink()
    assert (target / "1").exists()
    ((_, event, fields),) = log_lines.of("removals").lines
    assert event == "a deleted partition was a link, and its files stay"
    assert fields["path"] == str(target)


def test_a_failed_removal_is_logged_and_the_next_one_runs(log_lines: LogLines) -> None:
    disk = Disk()
    for path in ("data/a", "data/b"):
        disk.close(disk.open(path))
    disk.fail_at = disk.operations + 1
    removals = Removals(disk)
    run(lambda: removals.paths(["data/a"]))
    run(lambda: removals.paths(["data/b"]))
    removals.finish()
    assert list(disk.files) == ["data/a"]
    ((_, event, fields),) = log_lines.of("removals").lines
    assert (event, fields["path"]) == ("a deleted file cannot be removed now", "data/a")


async def test_a_deleted_topic_leaves_no_file(tmp_path: Path, it: OneNode) -> None:
    it.topic("orders", 3)
    for partition in range(3):
        it.append("orders", b"a", partition=partition)
    it.node.controller.delete_topic("orders")
    it.node.cluster.removals.finish()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("orders")]
