"""Temporary directories of killed processes are removed by later ones, and no others are."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.serving.scratch import OWNER, Scratch, SocketPlace, clear_abandoned


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the temporary directories are made."""
    return tmp_path


def abandoned(place: Path, name: str = "ottla-of-a-killed-process") -> Path:
    """A directory as a killed process leaves it."""
    left = place / name
    (left / "data" / "orders-0").mkdir(parents=True)
    (left / "data" / "orders-0" / "00000000000000000000.log").write_bytes(b"records")
    (left / "data" / ".lock").touch()
    (left / OWNER).touch()
    return left


def test_a_directory_is_there_until_it_is_removed(place: Path) -> None:
    made = Scratch.make(place=place)
    assert made.path.parent == place
    assert made.path.stat().st_mode & 0o777 == 0o700
    assert clear_abandoned(place) == 0
    made.remove()
    assert list(place.iterdir()) == []


def test_the_directory_of_a_killed_process_is_removed(place: Path) -> None:
    left = abandoned(place)
    assert clear_abandoned(place) == 1
    assert not left.exists()


def test_the_directories_of_processes_that_run_stay(place: Path) -> None:
    """Whether the process of the test runs, or its broker alone."""
    for held in (OWNER, "data/.lock"):
        left = abandoned(place, f"ottla-{held.replace('/', '-')}")
        with (left / held).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert clear_abandoned(place) == 0
            assert (left / "data" / "orders-0").exists()
        assert clear_abandoned(place) == 1


def test_other_files_and_directories_stay(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    users = abandoned(place, "my-ottla")
    without_file = place / "ottla-notes"
    without_file.mkdir()
    (without_file / "notes.txt").touch()
    (place / "ottla-file").touch()
    elsewhere = abandoned(tmp_path_factory.mktemp("elsewhere"), "ottla-elsewhere")
    (place / "ottla-link").symlink_to(elsewhere)
    linked_file = place / "ottla-linked-file"
    linked_file.mkdir()
    (linked_file / OWNER).symlink_to(elsewhere / OWNER)
    assert clear_abandoned(place) == 0
    assert users.exists()
    assert without_file.exists()
    assert elsewhere.exists()
    assert linked_file.exists()


def test_links_in_a_directory_are_removed_and_not_followed(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "precious").touch()
    (abandoned(place) / "data" / "link").symlink_to(elsewhere)
    assert clear_abandoned(place) == 1
    assert (elsewhere / "precious").exists()


PROGRAM = """
import os, signal
from ottla.testing import Ottla
with Ottla() as broker, Ottla() as other:
    print(broker.log_path.parent, other.log_path.parent, broker.pid, other.pid, flush=True)
    signal.pause()
"""
STARTS = """
from ottla.testing import Ottla
with Ottla() as broker:
    print(broker.log_path.parent)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for other processes' ends")
def test_the_first_broker_of_a_later_process_clears_up_after_a_killed_one(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-P", "-c", PROGRAM]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment
    ) as killed:
        assert killed.stdout is not None
        *directories, first, second = killed.stdout.readline().split()
        brokers = [os.pidfd_open(int(pid)) for pid in (first, second)]
        killed.send_signal(signal.SIGKILL)
    for broker in brokers:
        assert _ends(broker)
    assert all(Path(each).exists() for each in directories)
    command = [sys.executable, "-P", "-c", STARTS]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("ottla-")] == []


def _ends(process: int) -> bool:
    """Whether a process ends within twenty seconds, by its descriptor."""
    import select

    try:
        return bool(select.select([process], [], [], 20)[0])
    finally:
        os.close(process)


def test_a_socket_has_a_short_path_where_its_directory_has_a_long_one(tmp_path: Path) -> None:
    sockets = SocketPlace()
    near = Path("/tmp/broker.control")
    assert sockets.path_of(near) == near
    far = tmp_path / ("x" * 100) / "broker.control"
    short = sockets.path_of(far)
    assert (short.name, short.parent.parent) == (far.name, Path("/tmp"))
    assert short.parent.is_dir()
    assert sockets.path_of(far) == short
    sockets.remove()
    assert not short.parent.exists()


TRACED = """
import tempfile
from pathlib import Path
from ottla.serving.template import Template
from ottla.testing import Ottla

with Ottla() as broker:
    assert Path(tempfile.gettempdir()) in broker.data_dir.parents
    broker.trace.start()
    broker.create_topic("t")
    print(len(broker.trace.where(kind="request", api="CreateTopics")))
with Template() as template:
    print(template.runs)
"""


def test_a_broker_takes_orders_where_the_temporary_directory_has_a_long_path(
    tmp_path: Path,
) -> None:
    """Its faults and its trace were refused: the path of a Unix socket has some hundred bytes."""
    long = tmp_path / ("x" * 100)
    long.mkdir()
    command = [sys.executable, "-P", "-c", TRACED]
    done = subprocess.run(
        command,
        env={**os.environ, "TMPDIR": str(long)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1\nTrue\n", "")
