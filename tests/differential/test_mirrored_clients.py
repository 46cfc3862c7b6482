"""A program of clients on the mirror of `ottla diff`: Ottla and an Apache Kafka answer it alike."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import pytest

from ottla.cli.app import run

pytestmark = pytest.mark.kafka

PROGRAM = Path(__file__).parents[1] / "trials/diff/program.py"
STEPS = ("admin", "produce", "transactions", "classic", "consumer", "share")


@pytest.mark.parametrize("answers", ["kafka", "ottla"])
def test_a_program_gets_the_same_answers_from_both(
    apache_kafka: str, tmp_path: Path, answers: str
) -> None:
    report = tmp_path / "report.json"
    words = ["diff", "--with", apache_kafka, "--answers", answers, "--json", "--out", str(report)]
    topic = f"mirrored-{uuid.uuid4()}"
    status = run([*words, "--", sys.executable, str(PROGRAM), topic, *STEPS])
    found = json.loads(report.read_text())
    assert status == 0, found["differences"]
    assert not [note for note in found["notes"] if "program" in note["text"]]
    asked = {text.split()[0] for text in found["apis"]}
    assert asked >= {"EndTxn", "JoinGroup", "ConsumerGroupHeartbeat", "CreateTopics", "Fetch"}
    assert asked >= {"ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge"}
