"""The file of a trace: one broker's events, and what was there before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ottla.testing import Ottla
from ottla.testing.lab import LabRefused


def numbers(file: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in file.read_text().splitlines()]


def test_the_trace_of_an_earlier_broker_is_kept_beside_the_new_one(tmp_path: Path) -> None:
    file, before = tmp_path / "trace.jsonl", tmp_path / "trace.jsonl.before"
    written = []
    for _ in range(3):
        with Ottla() as broker:
            broker.trace.start(file=file)
            broker.create_topic("orders")
            broker.trace.stop()
        written.append(file.read_text())
        found = numbers(file)
        assert found == sorted(set(found))
        assert found[0] == 1
    assert before.read_text() == written[1]
    assert sorted(each.name for each in tmp_path.iterdir()) == [file.name, before.name]


def test_a_trace_goes_on_in_its_file_as_long_as_its_broker_runs(
    broker: Ottla, tmp_path: Path
) -> None:
    file = tmp_path / "trace.jsonl"
    for topic in ("a", "b"):
        broker.trace.start(file=file)
        broker.create_topic(topic)
        broker.trace.stop()
    found = numbers(file)
    assert found == sorted(set(found))
    asked = [
        event["request"]
        for event in map(json.loads, file.read_text().splitlines())
        if "request" in event
    ]
    assert len([each for each in asked if "topics" in each]) >= 2
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_a_file_that_is_no_trace_is_refused_and_stays(broker: Ottla, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("notes")
    with pytest.raises(LabRefused, match="the file exists, and is no trace"):
        broker.trace.start(file=file)
    assert file.read_text() == "notes"
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_an_empty_file_becomes_the_trace(broker: Ottla, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.touch()
    broker.trace.start(file=file)
    broker.create_topic("orders")
    broker.trace.stop()
    assert numbers(file)
    assert [each.name for each in tmp_path.iterdir()] == [file.name]
