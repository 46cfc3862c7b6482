"""Clients of a secured Ottla see what those of Apache Kafka 4.4.0 see, right and wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from .broker import answers, kafka, ottla
from .differences import expected, unused
from .listeners import Listeners
from .reloads import reloads

RECORDED: Final = json.loads(Path(__file__).with_name("kafka-4.4.0.json").read_text())

CLIENTS: Final = json.loads(Path(__file__).with_name("clients-4.4.0.json").read_text())


def differing(
    found: dict[str, list[object]], wanted: dict[str, list[object]]
) -> dict[str, tuple[object, object]]:
    """What was found and wanted, by the scenarios that differ."""
    plain = json.loads(json.dumps(found))
    return {
        name: (plain.get(name), wanted.get(name))
        for name in sorted(plain.keys() | wanted.keys())
        if plain.get(name) != wanted.get(name)
    }


def found_at_last(listeners: Listeners, wanted: dict[str, list[object]]) -> dict[str, list[object]]:
    """The answers; those that differ come again alone, because times differ on a busy machine."""
    found = answers(listeners)
    for name in differing(found, wanted):
        if name in found:
            found |= answers(listeners, wanted=name)
    return found


@pytest.mark.slow
def test_every_refusal_is_that_of_kafka(tmp_path: Path) -> None:
    listeners = Listeners(tmp_path)
    wanted = expected(RECORDED)
    with ottla(listeners):
        found = found_at_last(listeners, wanted)
    assert not differing(found, wanted)


def test_every_known_difference_exists() -> None:
    assert not unused(RECORDED)


def test_new_certificates_are_used_or_refused_as_by_kafka(tmp_path: Path) -> None:
    listeners = Listeners(tmp_path)
    with ottla(listeners):
        assert reloads(listeners) == CLIENTS["reloads"]


@pytest.mark.kafka
@pytest.mark.slow
def test_a_running_kafka_answers_as_recorded(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka: -m kafka")
    listeners = Listeners(tmp_path)
    with kafka(listeners):
        answers(listeners)  # the first handshakes of a JVM are slow
        found = found_at_last(listeners, RECORDED)
    assert not differing(found, RECORDED)
