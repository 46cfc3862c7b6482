"""`@ottla.torture` makes a test of a function that is an application."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import ottla
from ottla.testing import story_mode
from ottla.testing.broker import brokers
from ottla.trials.torture.decorator import PromiseBroken

from . import app

ALONE = ("start", "pause")


@ottla.torture(runs=2, copies=1, without=ALONE)
def copies_exactly_once(bootstrap: str, transactional_id: str) -> None:
    """Copies."""
    app.run(bootstrap, transactional_id, "none")


@ottla.torture(runs=1, copies=1, shrink_s=0)
async def copies_aborted_records(bootstrap: str, transactional_id: str) -> None:
    app.run(bootstrap, transactional_id, "uncommitted")


@pytest.fixture
def told() -> Iterator[None]:
    """Failing tests leave their stories, as the plugin sets it."""
    before = story_mode.is_on, story_mode.folder
    story_mode.is_on = True
    yield
    story_mode.is_on, story_mode.folder = before


def test_a_right_function_passes() -> None:
    copies_exactly_once()


def test_a_wrong_function_fails_with_the_scenario_and_its_timeline() -> None:
    with pytest.raises(PromiseBroken) as broken:
        copies_aborted_records()
    text = str(broken.value)
    assert text.startswith("G1a: A record of an aborted transaction of the input is in the output.")
    assert "copy 1       torture-1 torture-output-0 seq 0" in text
    assert "<-- writes torture-output-0 at" in text
    assert "\nThe scenario, for replay=:\nversion: 1\n" in text


def test_a_failing_function_names_its_page_if_stories_are_wanted(
    tmp_path: Path, told: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PromiseBroken) as broken:
        copies_aborted_records()
    (page,) = (tmp_path / "ottla-report").iterdir()
    assert str(broken.value).endswith(f"\nopen {page}")
    assert "copies_aborted_records</title>" in page.read_text()


def test_a_page_that_cannot_be_written_hides_no_broken_promise(tmp_path: Path, told: None) -> None:
    story_mode.folder = f"{tmp_path}/there/in\0valid"
    with pytest.raises(PromiseBroken, match="the page cannot be written: "):
        copies_aborted_records()


@ottla.torture(runs=2, copies=1, without=ALONE)
def copies_committed_records(bootstrap: str, transactional_id: str) -> None:
    app.run(bootstrap, transactional_id, "none")


def test_of_many_runs_only_the_last_ones_log_is_shown() -> None:
    """The plugin has a section for each broker that is known."""
    before = set(brokers)
    copies_committed_records()
    assert len(set(brokers) - before) == 1


def test_the_test_takes_no_fixtures_and_keeps_its_name() -> None:
    assert not inspect.signature(copies_exactly_once).parameters
    assert (copies_exactly_once.__name__, copies_exactly_once.__doc__) == (
        "copies_exactly_once",
        "Copies.",
    )


def test_a_scenario_is_replayed(tmp_path: Path) -> None:
    file = tmp_path / "g1a.yaml"
    file.write_text("copies: 1\ndata: {records: 1, aborted: 1, portions: 1}\n")

    replayed = ottla.torture(replay=file)(copies_aborted_records.application)  # type: ignore[attr-defined]  # it is set by the decorator
    with pytest.raises(PromiseBroken, match="aborted-0 of an aborted transaction"):
        replayed()


def test_functions_that_no_process_can_call_are_refused() -> None:
    with pytest.raises(TypeError, match="must be a function of a module"):
        ottla.torture()(lambda bootstrap: None)
    with pytest.raises(ValueError, match="without kil: it is none of kill, pause,"):
        ottla.torture(without=["kil"])


def takes_a_fixture(bootstrap: str, tmp_path: str) -> None:
    """Takes what no contract has."""


def test_parameters_outside_of_the_contract_are_refused() -> None:
    with pytest.raises(TypeError, match="takes tmp_path, which is none of bootstrap, input,"):
        ottla.torture()(takes_a_fixture)
