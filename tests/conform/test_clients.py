"""The Java client in a few scenarios, and the list of deviations; `make conform` has the rest."""

from __future__ import annotations

import pytest

from ottla.trials.conform.copy_rules import COPY_RULES
from ottla.trials.conform.known_violations import CLIENTS as NAMES
from ottla.trials.conform.known_violations import known_violations
from ottla.trials.conform.scenario_run import RunPlan, run_scenario
from ottla.trials.conform.scenarios import SCENARIOS, scenarios_named
from ottla.verdict.rules.all_rules import RULES

from . import kafka_examples, kafka_tools
from .clients import CLIENTS, EXAMPLES, java
from .clients_page import PAGE, page
from .deviations import unexplained
from .kafka_examples import STREAMS
from .recorded import read, recording


@pytest.mark.clients
@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.usefixtures("maven_jars")
def test_the_java_client_obeys_all_rules() -> None:
    chosen = scenarios_named(["end-answer-lost", "trailing-marker", "rebalance"])
    plan = RunPlan(java())
    found = recording("java", [run_scenario(each, plan) for each in chosen])
    assert found.violations() == set()


def test_deviations_name_clients_scenarios_and_rules() -> None:
    rules = {each.rule_id for each in RULES} | set(COPY_RULES) | {"no-end"}
    names = {each.name for each in SCENARIOS}
    for each in known_violations():
        assert set(each.clients) <= CLIENTS.keys(), each.title
        assert set(each.scenarios) <= names | {"*"}, each.title
        assert set(each.rules) <= rules, each.title


@pytest.mark.parametrize("client", CLIENTS)
def test_each_violation_of_a_client_is_explained(client: str) -> None:
    found = read(client)
    assert found.title == CLIENTS[client].title, "record it again"
    assert found.scenes.keys() == {each.name for each in SCENARIOS}
    assert unexplained(client, found.violations()) == []


def test_kafkas_own_tools_obey_all_rules() -> None:
    found = read(kafka_tools.NAME)
    assert found.scenes.keys() == {each.name for each in kafka_tools.RUNS}
    assert found.violations() == set()


def test_kafkas_example_programs_obey_all_rules_but_streams_stay_in_their_group() -> None:
    found = read(kafka_examples.NAME)
    assert found.scenes.keys() == {each.name for each in kafka_examples.RUNS}
    streams = {run.name for run in kafka_examples.RUNS if run.arguments[0].startswith(STREAMS)}
    assert found.violations() == {(name, "leave-at-close") for name in streams}


def test_each_deviation_was_seen() -> None:
    seen = [(name, *each) for name in CLIENTS for each in read(name).violations()]
    known = known_violations()
    assert [each.title for each in known if not any(each.has(*where) for where in seen)] == []


def test_each_known_violation_is_of_a_client_that_a_report_recognizes() -> None:
    without_names = {"kafka-go"}  # it sends no name, and its client id is the program's
    recognized = set(NAMES.values()) | without_names
    of_whom = [
        {name for name in recognized if each.is_of(name, each.rules[0])}
        for each in known_violations()
    ]
    assert all(of_whom)
    assert set().union(*of_whom) == recognized


def test_the_page_of_clients_is_made_of_the_recordings() -> None:
    assert PAGE.read_text() == page(), "make clients-page writes it"


def test_each_example_is_a_client() -> None:
    assert {each.program for each in CLIENTS.values()} == {each.name for each in EXAMPLES.iterdir()}
