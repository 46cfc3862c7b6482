"""kafka-dump-log prints of the same bytes what Kafka's tool 4.4.0 printed (dumped_files.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ottla.kafka_tools.__main__ import main

from .dumped_files import COMMANDS, EXPECTED, LOG, write_files


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_is_printed_as_by_kafkas_tool(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path)
    file, *words = COMMANDS[name]
    status = main(["kafka-dump-log", "--files", f"{tmp_path}/{file}", *words])
    printed = capfd.readouterr().out.replace(str(tmp_path), "DIRECTORY").splitlines()
    assert [status, printed] == json.loads(EXPECTED.read_text())[name]


def test_a_broken_batch_is_not_valid(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_files(tmp_path)
    data = bytearray((tmp_path / LOG).read_bytes())
    data[80] ^= 1
    (tmp_path / LOG).write_bytes(data)
    assert main(["kafka-dump-log", "--files", f"{tmp_path}/{LOG}"]) == 0
    valid = [line.rpartition(" ")[2] for line in capfd.readouterr().out.splitlines()[2:]]
    assert valid == ["false", "true", "true"]
