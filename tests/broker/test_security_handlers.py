"""ACLs, SCRAM credentials and quotas: the handlers answer what Apache Kafka 4.1.1 does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.config import BrokerConfig
from ottla.broker.node import Node

from .authorization_requests import OWNER, SETTINGS
from .security_requests import SCENES, play, recorded
from .test_authorization import Asked
from .test_topic_handlers import StoppedClock
from .topic_requests import Step

RECORDED = recorded()


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_answered_as_apache_kafka_answers_it(scene: str, tmp_path: Path) -> None:
    config = BrokerConfig.from_settings({"node.id": "1", **SETTINGS})
    with asyncio.Runner() as runner:
        node = runner.run(started(config, tmp_path))
        ask = Asked(runner, node)

        def call(step: Step) -> Mapping[str, Any] | None:
            return ask(OWNER, step)

        answers = play(SCENES[scene], call)
        node.close()
    for step, answer, expected in zip(SCENES[scene], answers, RECORDED[scene], strict=True):
        assert answer == expected, step


async def started(config: BrokerConfig, directory: Path) -> Node:
    return Node(config, directory, StoppedClock())


def test_every_scene_is_recorded() -> None:
    assert {name: len(steps) for name, steps in SCENES.items()} == {
        name: len(answers) for name, answers in RECORDED.items()
    }
