"""The exhibits are complete, their page is up to date, and their programs are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ottla.__main__ import main
from ottla.trials.museum.collection import EXHIBITS
from ottla.trials.museum.exhibit import Exhibit
from ottla.trials.museum.install import CLIENTS, PROGRAMS
from ottla.trials.museum.seen import Seen
from tools.museum_page import page

ROOT = Path(__file__).parents[3]


def each_exhibit() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda each: each.name)


@each_exhibit()
def test_an_exhibit_is_complete(exhibit: Exhibit) -> None:
    assert re.fullmatch(r"[a-z0-9-]+", exhibit.name)
    assert exhibit.name.startswith(exhibit.client)
    assert exhibit.client in CLIENTS
    assert re.match(r"https://(github\.com|issues\.apache\.org)/", exhibit.issue)
    assert exhibit.affected != exhibit.fixed
    assert exhibit.story.endswith(".")
    assert (PROGRAMS / exhibit.program).is_file()


@each_exhibit()
def test_a_program_that_broke_shows_neither_the_bug_nor_its_absence(exhibit: Exhibit) -> None:
    for status in (1, None):
        assert exhibit.check(Seen(status, ["Traceback"], [], {}, 0, {})) is None


def test_names_are_different() -> None:
    assert len({each.name for each in EXHIBITS}) == len(EXHIBITS)


def test_each_program_is_of_an_exhibit() -> None:
    programs = {
        each.name for each in PROGRAMS.iterdir() if each.suffix != ".pyc" and each.is_file()
    }
    assert programs - {"__init__.py"} == {each.program for each in EXHIBITS}


def test_the_page_is_that_of_the_exhibits() -> None:
    assert (ROOT / "docs/explanation/museum.md").read_text() == page(), "make museum-page"


def test_the_list_has_all_exhibits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum", "list"]) == 0
    text = capsys.readouterr().out
    assert all(each.name in text and each.issue in text for each in EXHIBITS)


def test_the_list_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found] == [each.name for each in EXHIBITS]
    assert found[0]["affected"] == EXHIBITS[0].affected
