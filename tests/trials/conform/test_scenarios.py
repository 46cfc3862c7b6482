"""The list of scenarios."""

from __future__ import annotations

import json

import pytest

from ottla.__main__ import main
from ottla.trials.conform.copy_rules import COPY_RULES
from ottla.trials.conform.scenarios import SCENARIOS, Scenario, scenarios_named
from ottla.verdict.rules.all_rules import RULES

from .page import PAGE, written

IDS = {each.rule_id for each in RULES} | set(COPY_RULES)


def named(scenario: Scenario) -> str:
    return scenario.name


def test_each_scenario_has_a_name_of_its_own() -> None:
    assert len({each.name for each in SCENARIOS}) == len(SCENARIOS) >= 15


@pytest.mark.parametrize("scenario", SCENARIOS, ids=named)
def test_a_scenario_names_rules_that_exist(scenario: Scenario) -> None:
    assert scenario.rules
    assert {*scenario.rules, scenario.position_rule or scenario.rules[0]} <= IDS


def test_the_ids_of_all_rules_differ() -> None:
    assert len(IDS) == len(RULES) + len(COPY_RULES)


def test_scenarios_are_found_by_patterns() -> None:
    assert scenarios_named([]) == list(SCENARIOS)
    assert [each.name for each in scenarios_named(["*-lost", "calm"])] == [
        "calm", "produce-answer-lost", "end-answer-lost",
    ]  # fmt: skip


def test_the_list_has_each_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in listed] == [each.name for each in SCENARIOS]
    assert main(["conform", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(SCENARIOS) + 2


def test_the_page_has_all_scenarios_and_the_runners_rules() -> None:
    text = PAGE.read_text()
    assert written(text) == text
