"""What administrators ask: the handlers answer what Apache Kafka 4.1.1 does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.broker.principals import ANONYMOUS, KafkaPrincipal
from ottla.broker.settings.listeners import SecurityProtocol
from ottla.metadata.records import FeatureLevelRecord
from tests.broker.handlers.admin_requests import PRELUDE, SCENES, play, recorded, set_config
from tests.broker.handlers.share_scenes import SHARE_SCENES
from tests.broker.handlers.topic_requests import Step, cluster, create, metadata
from tests.broker.talk import CONNECTION, Talk, talk_with
from tests.wire.client import error_name

RECORDED = recorded()


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_answered_as_apache_kafka_answers_it(scene: str, tmp_path: Path) -> None:
    with talk_with(tmp_path) as talk:
        for step in PRELUDE:
            talk.ask(step)
        if scene in SHARE_SCENES:
            talk.node.controller._commit([FeatureLevelRecord("share.version", 0)])
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


@pytest.mark.parametrize("asked", [[], [2, 16, 32]])
def test_resources_with_settings_are_listed_in_kafkas_order(
    asked: list[int], tmp_path: Path
) -> None:
    with talk_with(tmp_path) as talk:
        for name in ("g0", "g9", "g10", "g11", "polygenelubricants"):
            talk.ask(create(name))
            talk.ask(set_config(32, name, "consumer.session.timeout.ms", "50000"))
        talk.ask(set_config(16, "watched", "interval.ms", "5000"))
        answer = talk.ask(Step("ListConfigResources", 1, {"resource_types": asked}))
    assert answer is not None
    found = [(each["resource_type"], each["resource_name"]) for each in answer["config_resources"]]
    brokers = [] if asked else [(8, "1"), (4, "1")]
    assert found == [
        *((32, name) for name in ("polygenelubricants", "g9", "g11", "g10", "g0")),
        (16, "watched"),
        *brokers,
        *((2, name) for name in ("polygenelubricants", "g0", "g9", "g10", "g11")),
    ]


def test_metadata_returns_the_rack_of_each_broker(tmp_path: Path) -> None:
    with talk_with(tmp_path, {"broker.rack": "cellar"}) as talk:
        for step in (metadata(version=9), cluster(2)):
            answer = talk.ask(step)
            assert answer is not None
            assert [broker["rack"] for broker in answer["brokers"]] == ["cellar"]


def test_a_broker_that_was_forgotten_leads_again_when_it_starts_again(tmp_path: Path) -> None:
    asked = Step("UnregisterBroker", 0, {"broker_id": 1})
    for life in range(2):
        with talk_with(tmp_path) as talk:
            if life == 0:
                talk.ask(create("orders"))
            assert leaders(talk) == ([1], [1])
            answer = talk.ask(asked)
            assert answer is not None
            assert answer["error_code"] == 0
            assert leaders(talk) == ([], [-1])


def leaders(talk: Talk) -> tuple[list[int], list[int]]:
    """The brokers, and the leaders of the partitions."""
    answer = talk.ask(metadata("orders"))
    assert answer is not None
    partitions = [each for topic in answer["topics"] for each in topic["partitions"]]
    return (
        [broker["node_id"] for broker in answer["brokers"]],
        [partition["leader_id"] for partition in partitions],
    )


def test_delegation_token_requests_are_refused_after_a_login(tmp_path: Path) -> None:
    """As by an Apache Kafka without delegation.token.secret.key."""
    with talk_with(tmp_path) as talk:
        before = CONNECTION.listener
        CONNECTION.principal = KafkaPrincipal("User", "somebody")
        CONNECTION.listener = before._replace(protocol=SecurityProtocol.SASL_PLAINTEXT)
        try:
            answers = [talk.ask(SCENES["delegation tokens"][at]) for at in (0, -1)]
        finally:
            CONNECTION.principal, CONNECTION.listener = ANONYMOUS, before
    for answer in answers:
        assert answer is not None
        assert error_name(answer["error_code"]) == "DELEGATION_TOKEN_AUTH_DISABLED"
