"""`ottla serve` on a disk that is too small, locked, write-protected or another user's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pytest

from tests.wire.batches import batch
from tests.wire.broker import Broker
from tests.wire.client import error_name

PATIENCE_S = 20.0


def command(data: Path, ready: Path) -> list[str]:
    return [
        sys.executable, "-m", "ottla", "serve", "--listen", "127.0.0.1:0",
        "--data-dir", str(data), "--ready-file", str(ready),
    ]  # fmt: skip


class Served:
    """A broker process and a client of it."""

    def __init__(self, data: Path, place: Path) -> None:
        ready = place / "ready"
        ready.unlink(missing_ok=True)
        self._stderr = (place / "stderr").open("w+")
        self.process = subprocess.Popen(
            command(data, ready), stdout=subprocess.DEVNULL, stderr=self._stderr
        )
        deadline = time.monotonic() + PATIENCE_S
        while not ready.exists():
            assert self.process.poll() is None, self.stderr()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        host, _, port = ready.read_text().strip().rpartition(":")
        self.client = Broker((host, int(port)), "faults")

    def stderr(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()

    def stop(self) -> int:
        self.client.close()
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


@contextmanager
def served(data: Path, place: Path) -> Iterator[Served]:
    broker = Served(data, place)
    try:
        yield broker
    finally:
        broker.stop()
        broker._stderr.close()


def refused(data: Path, place: Path) -> str:
    """A refused start has one line and exit status 1."""
    done = subprocess.run(
        command(data, place / "ready"), capture_output=True, text=True, timeout=PATIENCE_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("ottla: ")
    return line


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing may be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_refuses_produces_until_space_is_free_and_loses_nothing(
    small: Path, tmp_path: Path
) -> None:
    filler = small / "filler"
    filler.write_bytes(bytes(400_000))
    acknowledged: list[str] = []
    noise = Random(1)
    with served(small / "data", tmp_path) as broker:
        topic = broker.client.topic(2)
        error = "NONE"
        while error == "NONE":
            value = b"%06d" % len(acknowledged)
            record = batch([value + noise.randbytes(4_500).hex().encode()])
            error, _ = _produced(broker.client, topic, record)
            if error == "NONE":
                acknowledged.append(value.decode())
            assert len(acknowledged) < 200, "it is never full"
        assert error == "KAFKA_STORAGE_ERROR"
        assert len(acknowledged) > 10
        (line,) = [line for line in broker.stderr().splitlines() if "Errno 28" in line]
        assert "make room on the disk" in line
        assert broker.client.is_alive() == "NONE"
        assert [value[:6] for value in broker.client.values(topic)] == acknowledged
        filler.unlink()
        assert _produced(broker.client, topic, batch([b"room again"]))[0] == "NONE"
    with served(small / "data", tmp_path) as broker:
        values = broker.client.values(topic)
        assert [value[:6] for value in values[:-1]] == acknowledged
        assert values[-1] == "room again"


def test_a_topic_created_on_a_full_disk_gets_its_log_once_space_is_free(
    small: Path, tmp_path: Path
) -> None:
    with served(small / "data", tmp_path) as broker:
        broker.client.topic()
        filler = small / "filler"
        with filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)) == 4096 and os.statvfs(small).f_bavail:
                pass
        broker.client.create_raw("late")
        assert broker.client.is_alive() == "NONE"
        assert _produced(broker.client, "late", batch([b"v"]))[0] != "NONE"
        filler.unlink()
        broker.client.create_raw("late")
        assert _produced(broker.client, "late", batch([b"v"]))[0] == "NONE"


def test_a_start_that_finds_no_room_names_the_directory_in_one_line_and_works_with_room(
    small: Path, tmp_path: Path
) -> None:
    data = small / "data"
    with served(data, tmp_path) as broker:
        topic = broker.client.filled_topic()
        broker.process.kill()  # the mark of a clean stop would be a block that is given back
    filler = small / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    line = refused(data, tmp_path)
    assert str(data) in line
    assert "No space left on device" in line
    assert "make room on the disk" in line
    filler.unlink()
    with served(data, tmp_path) as broker:
        assert len(broker.client.batches(topic)) == 3


def _produced(client: Broker, topic: str, records: bytes) -> tuple[str, int]:
    (answer,) = client.produce_raw([(topic, 0, records)])
    return error_name(answer["error_code"]), answer["base_offset"]


def test_a_directory_that_another_broker_has_is_refused_in_one_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with served(data, tmp_path) as broker:
        (tmp_path / "other").mkdir()
        assert refused(data, tmp_path / "other") == f"ottla: another broker uses {data}"
        assert broker.client.is_alive() == "NONE"


def test_a_directory_of_another_node_is_refused_in_one_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with served(data, tmp_path):
        pass
    properties = data / "meta.properties"
    properties.write_text(properties.read_text().replace("node.id=1", "node.id=7"))
    assert "belongs to node 7" in refused(data, tmp_path)


def test_a_data_directory_that_is_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text("not a directory")
    assert str(data) in refused(data, tmp_path)


def test_a_write_protected_directory_is_refused_in_one_line(small: Path, tmp_path: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    line = refused(small / "data", tmp_path)
    assert "Read-only file system" in line
    assert str(small / "data") in line


@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_a_directory_that_goes_while_the_broker_runs_halts_it_and_the_next_start_is_well(
    how: str, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    with served(data, tmp_path) as broker:
        topic = broker.client.filled_topic()
        data.rename(tmp_path / "away") if how == "renamed" else shutil.rmtree(data)
        assert broker.process.wait(PATIENCE_S) == 1
        line = broker.stderr().splitlines()[-1]
        assert line.startswith("ottla: ")
        assert str(data) in line
        assert not data.exists(), "a part of it was made anew"
    if how == "renamed":
        (tmp_path / "away").rename(data)
    with served(data, tmp_path) as broker:
        if how == "renamed":
            assert len(broker.client.batches(topic)) == 3
        assert broker.client.topic()


def test_unreadable_files_stop_only_their_partition(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with served(data, tmp_path) as broker:
        harmed, well = broker.client.topic(), broker.client.topic()
        for topic in (harmed, well):
            assert _produced(broker.client, topic, batch([b"v"]))[0] == "NONE"
    file = data / f"{harmed}-0" / f"{0:020d}.log"
    content = file.read_bytes()
    file.unlink()
    file.mkdir()  # root may read whatever is a file
    with served(data, tmp_path) as broker:
        assert _produced(broker.client, well, batch([b"v"]))[0] == "NONE"
        assert _produced(broker.client, harmed, batch([b"v"]))[0] == "KAFKA_STORAGE_ERROR"
        lines = [line for line in broker.stderr().splitlines() if str(file) in line]
        assert lines, broker.stderr()
        file.rmdir()
        file.write_bytes(content)
        assert _produced(broker.client, harmed, batch([b"v"])) == ("NONE", 1)


def test_an_unreadable_data_file_is_logged_when_it_is_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    small: dict[str, str | None] = {"segment.bytes": "1048576"}
    with served(data, tmp_path) as broker:
        assert broker.client.create_raw("orders", configs=small)["error_code"] == 0
        assert broker.client.create_raw("times", configs=small)["error_code"] == 0
        for topic in ("orders", "times"):
            for _ in range(2):
                error, _ = _produced(broker.client, topic, batch([bytes(700_000)]))
                assert error == "NONE"
    with served(data, tmp_path) as broker:
        client = broker.client
        for topic in ("orders", "times"):
            (data / f"{topic}-0" / f"{0:020d}.log").unlink()
        for _ in range(2):
            error, _, _ = client.list_offset("times", timestamp=1)
            assert error == "KAFKA_STORAGE_ERROR"
            found = client.fetch("orders")
            assert error_name(found["error_code"]) == "KAFKA_STORAGE_ERROR", str(found)[:500]
        assert error_name(client.fetch("orders", 1)["error_code"]) == "NONE"
        for topic in ("orders", "times"):
            file = f"{topic}-0/{0:020d}.log"
            (line,) = [line for line in broker.stderr().splitlines() if file in line]
            assert "the storage of a partition fails" in line
