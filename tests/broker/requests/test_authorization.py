"""A user with some rights gets Apache Kafka 4.1.1's answer from every API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.requests.api import NoGuard
from ottla.broker.requests.dispatch import api_of
from ottla.broker.requests.guards.guard import guard_of
from ottla.broker.requests.served_apis import HANDLERS
from ottla.broker.settings.authorizers import STANDARD
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import api_name
from ottla.protocol.errors import Code
from tests.broker.handlers.topic_requests import Step
from tests.broker.requests.authorization_requests import SETTINGS, play, recorded
from tests.broker.requests.authorization_steps import all_steps
from tests.broker.talk import talk_with
from tests.log_lines import LogLines

SERVED = {api_name(key) for key in HANDLERS}
STEPS = all_steps()
RECORDED = recorded()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, list[str]]]]:
    """What each request was answered, with the rows of rights that it was answered so."""
    directory: Path = tmp_path_factory.mktemp("authorized")
    with talk_with(directory, SETTINGS) as talk:

        def ask(address: str, step: Step) -> Mapping[str, Any] | None:
            return talk.ask(step, address=address) if step.api in SERVED else {}

        yield play(ask, STEPS, lambda _: None)


@pytest.mark.parametrize("index", range(len(STEPS)), ids=lambda i: f"{i}-{STEPS[i].api}")
def test_every_row_of_rights_is_answered_as_apache_kafka_answers_it(
    index: int, answers: list[dict[str, list[str]]]
) -> None:
    assert STEPS[index].api in SERVED
    assert answers[index] == RECORDED[index]


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name)
def test_the_guard_that_a_handler_declares_exists(key: ApiKey) -> None:
    guard = api_of(key).guard
    assert isinstance(guard, NoGuard) or asyncio.iscoroutinefunction(guard_of(guard))


def test_a_denial_is_logged_at_debug_level(log_lines: LogLines, tmp_path: Path) -> None:
    asked = Step("ListPartitionReassignments", 0, {"timeout_ms": 1, "topics": None})
    with talk_with(tmp_path, {"authorizer.class.name": STANDARD}) as talk:
        answer = talk.ask(asked, address="10.0.0.1")
    assert answer is not None
    assert answer["error_code"] == Code.CLUSTER_AUTHORIZATION_FAILED
    told = {"principal": "User:ANONYMOUS", "host": "10.0.0.1", "operation": "DESCRIBE"}
    ((level, _, fields),) = log_lines.of("authorization").lines
    assert level == "debug"
    assert told.items() <= fields.items()
    assert (fields["resource"], fields["api"]) == ("CLUSTER", "LIST_PARTITION_REASSIGNMENTS")
