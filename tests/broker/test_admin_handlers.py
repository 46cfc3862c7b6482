"""What administrators ask: the handlers answer what Apache Kafka 4.1.1 does."""

from __future__ import annotations

from pathlib import Path

import pytest

from .admin_requests import PRELUDE, SCENES, play, recorded
from .test_topic_handlers import talk_with

RECORDED = recorded()


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_answered_as_apache_kafka_answers_it(scene: str, tmp_path: Path) -> None:
    with talk_with(tmp_path) as talk:
        for step in PRELUDE:
            talk.ask(step)
        answers = play(
            SCENES[scene], talk.ask, log_dir=str(tmp_path), cluster_id=talk.node.cluster_id
        )
    different = [
        f"{step}\nKafka {expected}\nOttla {answer}"
        for step, answer, expected in zip(SCENES[scene], answers, RECORDED[scene], strict=True)
        if answer != expected
    ]
    assert not different, "\n".join(different)


def test_every_scene_is_recorded() -> None:
    assert {name: len(steps) for name, steps in SCENES.items()} == {
        name: len(answers) for name, answers in RECORDED.items()
    }
