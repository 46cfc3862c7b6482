"""A batch with a broken record, as an earlier release stored it: what commands say about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.storage.appended import Origin
from ottla.testing import Ottla, running_broker
from tests.cli.made_directory import made
from tests.storage import broken_records
from tests.storage.logs import NOW_MS, batch

TOLD = "record 7 of the batch at offset 2 is broken: its key has 5000 bytes, and 4 bytes are left"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose partition orders-1 has two right records and a broken batch."""
    path = tmp_path_factory.mktemp("broken") / "data"
    directory = made(path)
    log = directory.log_of("orders", 1)
    assert log is not None
    log.append(batch(b"one", b"two"), now_ms=NOW_MS)
    sent = bytearray(broken_records.batch(broken_records.NAMED["a key longer than the batch"]))
    log.append(sent, now_ms=NOW_MS, origin=Origin.COORDINATOR)
    directory.close()
    return path


@pytest.fixture(scope="module")
def broker(data: Path) -> Iterator[Ottla]:
    with running_broker(data_dir=data) as started:
        yield started


def test_consume_shows_the_records_before_it_and_names_it(
    broker: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["-b", broker.bootstrap_servers, "--from", "beginning", "-p", "1", "--values"]
    assert main(["consume", "orders", *words]) == 1
    said = capsys.readouterr()
    assert said.out.split() == ["one", "two"]
    assert said.err == f"ottla: orders-1: INVALID_RECORD: {TOLD}\n"


@pytest.mark.parametrize("reads", ["directory", "cluster"])
def test_the_oracle_names_it(
    reads: str, data: Path, tmp_path: Path, broker: Ottla, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "history"
    records = {"orders-1": [[0, "one"]]}
    history.write_text(
        json.dumps({"process": 1, "op": "send", "type": "ok", "records": records}) + "\n"
    )
    where = ["--data-dir", str(data)]
    if reads == "cluster":
        where = ["-b", broker.bootstrap_servers]
    assert main(["oracle", "--history", str(history), *where]) in (1, 2)
    assert TOLD in capsys.readouterr().err
