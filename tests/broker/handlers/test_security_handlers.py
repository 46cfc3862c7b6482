"""ACLs, SCRAM credentials and quotas: the handlers answer what Apache Kafka 4.1.1 does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.broker.handlers.security_requests import SCENES, play, recorded
from tests.broker.handlers.topic_requests import Step
from tests.broker.requests.authorization_requests import OWNER, SETTINGS
from tests.broker.talk import talk_with

RECORDED = recorded()


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_answered_as_apache_kafka_answers_it(scene: str, tmp_path: Path) -> None:
    with talk_with(tmp_path, SETTINGS) as talk:

        def call(step: Step) -> Mapping[str, Any] | None:
            return talk.ask(step, address=OWNER)

        answers = play(SCENES[scene], call)
    for step, answer, expected in zip(SCENES[scene], answers, RECORDED[scene], strict=True):
        assert answer == expected, step


def test_every_scene_is_recorded() -> None:
    assert {name: len(steps) for name, steps in SCENES.items()} == {
        name: len(answers) for name, answers in RECORDED.items()
    }
