"""The Java client in a few scenarios, and the list of deviations; `make conform` has the rest."""

from __future__ import annotations

import pytest

from ottla.conform.copy_rules import COPY_RULES
from ottla.conform.running import Plan, run_scenario
from ottla.conform.scenarios import SCENARIOS, scenarios_named
from ottla.verdict.all_rules import RULES

from .__main__ import DEVIATIONS, deviations, found
from .clients import CLIENTS, EXAMPLES, java


@pytest.mark.clients
@pytest.mark.kafka
@pytest.mark.slow
def test_the_java_client_obeys_all_rules(pytestconfig: pytest.Config) -> None:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("needs Maven's jars: -m kafka")
    chosen = scenarios_named(["end-answer-lost", "trailing-marker", "rebalance"])
    plan = Plan(java())
    assert found("java", [run_scenario(each, plan) for each in chosen]) == []


def test_deviations_name_clients_scenarios_and_rules() -> None:
    rules = {each.rule_id for each in RULES} | set(COPY_RULES) | {"no-end"}
    names = {each.name for each in SCENARIOS}
    for client, scenario, rule in deviations(DEVIATIONS.read_text()):
        assert (client in CLIENTS, scenario in names, rule in rules) == (True, True, True), rule


def test_each_example_is_a_client() -> None:
    assert len(CLIENTS) == len([*EXAMPLES.iterdir()])
