"""A broker with `--as` shows of itself what that release of Kafka has shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from ottla.broker.releases.api_rows import COLUMNS
from ottla.broker.requests.served_apis import HANDLERS
from ottla.broker.settings.broker_settings import OTTLA_DEFAULTS
from ottla.protocol.api_keys import ApiKey
from ottla.testing import Ottla
from tests.broker.releases.asked import answers, answers_of
from tests.broker.releases.seen import file_of, seen
from tests.wire.conftest import address_of

RECORDED: Final = {
    "2.8": "2.8.2",
    "2.8-zookeeper": "2.8.2-zookeeper",
    "3.4": "3.4.1",
    "3.9": "3.9.2",
    "4.1": "4.1.1",
    "4.2": "4.2.1",
    "4.3": "4.3.1",
    "4.4": "4.4.0",
}
OF_BROKERS: Final = {"4", "5", "6", "7", "56", "58"}
"""APIs between brokers, which old releases offer to clients too."""
NOT_IMITATED: Final = {
    *OTTLA_DEFAULTS,
    "advertised.listeners",  # brokers before 4.0 take changes of it
    "group.consumer.assignors",  # names of classes before 4.0
    "listener.security.protocol.map",  # in another order
    "listeners",  # 2.8 has no default
}
ONLY_WITH_KRAFT: Final = {
    *("controller.listener.names", "controller.quorum.voters", "node.id", "process.roles")
}
Seen = tuple[str, dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module", params=RECORDED)
def both(request: pytest.FixtureRequest) -> Iterator[Seen]:
    """The name of a release, what it has shown, and what Ottla shows."""
    name = request.param
    recorded = json.loads(file_of(RECORDED[name]).read_text())
    with Ottla(as_kafka=name) as broker:
        yield name, recorded, seen(address_of(broker.bootstrap_servers))


def test_every_release_of_the_table_is_recorded() -> None:
    assert set(RECORDED) == set(COLUMNS)


def test_the_apis_are_those_of_the_release_as_far_as_ottla_has_them(both: Seen) -> None:
    _, theirs, ours = both
    expected = {
        key: [lowest, min(highest, HANDLERS[ApiKey(int(key))].highest)]
        for key, (lowest, highest) in theirs["apis"].items()
        if key not in OF_BROKERS and ApiKey(int(key)) in HANDLERS
    }
    assert ours["apis"] == expected | {
        key: versions for key, versions in theirs["apis"].items() if key in OF_BROKERS
    }


def test_supported_and_finalized_features_are_those_of_the_release(both: Seen) -> None:
    _, theirs, ours = both
    assert ours["features"] == theirs["features"]


def test_names_types_and_defaults_of_settings_are_those_of_the_release(both: Seen) -> None:
    name, theirs, ours = both
    for kind, expected in theirs["configs"].items():
        found = ours["configs"][kind]
        if not isinstance(expected, dict):
            assert found == expected, kind
            continue
        more = ONLY_WITH_KRAFT if (name, kind) == ("2.8-zookeeper", "broker") else set()
        assert found.keys() - more == expected.keys(), kind
        for setting in expected.keys() - NOT_IMITATED:
            assert found[setting] == expected[setting], setting


KAFKAS_OWN: Final = ("no answer", "not asked")
"""Answers that are none, or those of versions that the codec of these tests does not have."""
OTHER_ANSWERS: Final = {
    "directories": range(99),  # all topics, with those of the cluster's own
    "fetch of no partition": range(4),  # records of these versions have another format
    "largest timestamp": range(7),  # Kafka 3.4 takes it in each version
    "no feature": range(2),  # Kafka before 4.0 has a result for each feature
}
"""Questions and versions whose answers differ from those of releases before 4.1."""


@pytest.mark.parametrize("name", [name for name in RECORDED if answers_of(RECORDED[name]).exists()])
def test_small_questions_are_answered_as_by_the_release_in_each_version(name: str) -> None:
    theirs = json.loads(answers_of(RECORDED[name]).read_text())
    with Ottla(as_kafka=name) as broker:
        ours = json.loads(json.dumps(answers(address_of(broker.bootstrap_servers))))
    assert ours.keys() == theirs.keys()
    for question, by_version in theirs.items():
        for version, answer in by_version.items():
            if str(answer).startswith(KAFKAS_OWN) or int(version) in OTHER_ANSWERS.get(
                question, ()
            ):
                continue
            assert ours[question].get(version) == answer, (question, version)
