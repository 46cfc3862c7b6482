"""Topics, the cluster and coordinators: the handlers answer what Apache Kafka 4.1.1 does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.broker.handlers.topic_requests import (
    PRELUDE,
    SCENES,
    Step,
    coordinator,
    create,
    delete,
    delete_by,
    describe,
    metadata,
    play,
    recorded,
    topic,
)
from tests.broker.talk import Talk, talk_with
from tests.log_lines import LogLines
from tests.wire.client import error_name

RECORDED = recorded()
DISABLED = "TOPIC_DELETION_DISABLED"


def codes(answer: Mapping[str, Any] | None) -> list[str]:
    """The names of the errors of all topics in an answer."""
    assert answer is not None
    topics = next(value for value in answer.values() if isinstance(value, list) and value)
    return [error_name(each["error_code"]) for each in topics if "error_code" in each]


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_answered_as_apache_kafka_answers_it(scene: str, tmp_path: Path) -> None:
    with talk_with(tmp_path) as talk:
        for step in PRELUDE:
            talk.ask(step)
        answers = play(scene, talk.ask, lambda: None)
    for step, answer, expected in zip(SCENES[scene], answers, RECORDED[scene], strict=True):
        assert answer == expected, step


def test_every_scene_is_recorded() -> None:
    assert {name: len(steps) for name, steps in SCENES.items()} == {
        name: len(answers) for name, answers in RECORDED.items()
    }


def test_no_topic_is_made_by_asking_when_the_broker_makes_none(tmp_path: Path) -> None:
    with talk_with(tmp_path, {"auto.create.topics.enable": "false"}) as talk:
        for _ in range(2):
            answer = talk.ask(metadata("wanted", auto=True, version=4))
            assert answer is not None
            (told,) = answer["topics"]
            assert error_name(told["error_code"]) == "UNKNOWN_TOPIC_OR_PARTITION"
        assert not talk.node.catalog.topics


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, "INVALID_REQUEST"), (2, "INVALID_REQUEST"), (3, DISABLED), (5, DISABLED)],
)
def test_no_topic_is_deleted_where_that_is_disabled(
    tmp_path: Path, version: int, code: str
) -> None:
    with talk_with(tmp_path, {"delete.topic.enable": "false"}) as talk:
        talk.ask(create("kept"))
        assert codes(talk.ask(delete("kept", "nobody", version=version))) == [code, code]
        assert "kept" in talk.node.catalog.topics


def test_a_request_for_all_topics_returns_all_topics(talk: Talk) -> None:
    talk.ask(create("b", "a"))
    every = [
        Step("Metadata", 0, {"topics": []}),
        *(Step("Metadata", version, {"topics": None}) for version in range(1, 14)),
    ]
    for step in every:
        answer = talk.ask(step)
        assert answer is not None
        assert sorted(each["name"] for each in answer["topics"]) == ["a", "b"], step
    answer = talk.ask(describe())
    assert answer is not None
    assert [each["name"] for each in answer["topics"]] == ["a", "b"]


def test_all_topics_are_described_in_portions_without_a_gap(talk: Talk) -> None:
    talk.ask(create(*(topic(name, count, 1) for name, count in zip("cab", (4, 1, 3), strict=True))))
    seen, cursor = [], None
    for _ in range(20):
        answer = talk.ask(describe(limit=2, cursor=cursor))
        assert answer is not None
        parts = [
            (t["name"], p["partition_index"]) for t in answer["topics"] for p in t["partitions"]
        ]
        assert len(parts) <= 2
        seen += parts
        if answer["next_cursor"] is None:
            break
        cursor = (answer["next_cursor"]["topic_name"], answer["next_cursor"]["partition_index"])
    assert seen == [("a", 0), *(("b", p) for p in range(3)), *(("c", p) for p in range(4))]


def test_a_broker_may_set_the_most_partitions_an_answer_describes(tmp_path: Path) -> None:
    with talk_with(tmp_path, {"max.request.partition.size.limit": "1"}) as talk:
        talk.ask(create(topic("few", 2, 1)))
        answer = talk.ask(describe("few"))
        assert answer is not None
        assert answer["next_cursor"] == {"topic_name": "few", "partition_index": 1}


def test_the_first_one_to_look_for_a_coordinator_makes_its_topic(tmp_path: Path) -> None:
    with talk_with(tmp_path, {"offsets.topic.num.partitions": "7"}) as talk:
        assert codes(talk.ask(coordinator(4, 0, "group"))) == ["NONE"]
        made = talk.node.catalog.topics["__consumer_offsets"]
        assert len(made.partitions) == 7
        assert set(talk.node.catalog.topics) == {"__consumer_offsets"}
        assert codes(talk.ask(coordinator(4, 1, "shop"))) == ["NONE"]
        assert len(talk.node.catalog.topics["__transaction_state"].partitions) == 50


def test_answers_stay_the_same_after_a_restart_but_for_leader_epochs(tmp_path: Path) -> None:
    with talk_with(tmp_path) as talk:
        talk.ask(create(topic("kept", 3, 1, configs={"retention.ms": "5"}), "gone"))
        talk.ask(delete("gone"))
        before = talk.ask(metadata("kept", "gone", version=12))
    with talk_with(tmp_path) as talk:
        after = talk.ask(metadata("kept", "gone", version=12))
        assert before is not None
        assert after is not None
        for partition in after["topics"][0]["partitions"]:
            assert partition.pop("leader_epoch") == 2  # one for the broker's end, one for its start
        for partition in before["topics"][0]["partitions"]:
            assert partition.pop("leader_epoch") == 0
        assert after == before
        assert talk.node.catalog.overrides(2, "kept") == {"retention.ms": "5"}


def test_a_name_that_was_deleted_begins_anew(tmp_path: Path, talk: Talk) -> None:
    talk.ask(create(topic("again", 3, 1, configs={"retention.ms": "5"})))
    first = talk.node.catalog.topics["again"]
    log = talk.node.open_log_of("again", 0)
    assert log is not None
    assert log.config.retention_ms == 5
    assert codes(talk.ask(delete_by((None, first.topic_id)))) == ["NONE"]
    assert talk.node.open_log_of("again", 0) is None
    talk.ask(create(topic("again", 1, 1)))
    again = talk.node.catalog.topics["again"]
    assert again.topic_id != first.topic_id
    assert talk.node.catalog.topic_by_id(first.topic_id) is None
    anew = talk.node.open_log_of("again", 0)
    assert anew is not None
    assert anew.config.retention_ms != 5
    assert talk.node.open_log_of("again", 1) is None
    there = {path.name for path in tmp_path.glob("again-*")}  # and what a thread removes yet
    assert {name for name in there if not name.endswith("-delete")} == {"again-0"}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"default.replication.factor": "3"}, "INVALID_REPLICATION_FACTOR: Unable to replicate")],
)
def test_the_log_says_why_a_topic_is_not_made(
    settings: dict[str, str], reason: str, tmp_path: Path, log_lines: LogLines
) -> None:
    with talk_with(tmp_path, settings) as talk:
        answer = talk.ask(metadata("wanted", auto=True, version=4))
        assert answer is not None
        assert not talk.node.catalog.topics
    (line,) = (line for line in log_lines.of("controller").lines if "topic" in line[2])
    assert line[0] == "warning"
    assert line[2]["topic"] == "wanted"
    assert line[2]["reason"].startswith(reason)


def test_the_log_says_why_there_is_no_coordinator(tmp_path: Path, log_lines: LogLines) -> None:
    with talk_with(tmp_path) as talk:
        talk.node.controller.create_topic("..transaction.state")
        answer = talk.ask(coordinator(4, 1, "t"))
        assert answer is not None
    (line,) = (line for line in log_lines.of("controller").lines if "topic" in line[2])
    assert line[2]["topic"] == "__transaction_state"
    assert "collides" in line[2]["reason"]
