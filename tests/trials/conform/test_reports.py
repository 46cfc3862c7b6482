"""The reports about several scenarios."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from ottla.cli.conform import _write_pictures
from ottla.trials.conform.file_reports import as_json, as_junit
from ottla.trials.conform.findings import Breach, Finding, Result, exit_status, in_all
from ottla.trials.conform.html_report import as_html, picture_name, pictures_of
from ottla.trials.conform.text_report import print_scenarios

BREACH = Breach("It is <wrong>.", "a client", (1, 2), ("line <1>", "line 2"))
OBEYED = Finding("rule-1", "The first rule.", "KIP-1", obeyed=3)
VIOLATED = Finding("rule-1", "The first rule.", "KIP-1", 1, 5, (BREACH,))
UNSEEN = Finding("rule-2", "The second rule.", "KIP-2")
CALM = Result("calm", (OBEYED, UNSEEN), "Nothing happens.", took_s=1.5)
BROKEN = Result("broken", (VIOLATED,), "It breaks.", notes=("delay did not happen",))
HUNG = Result("hung", (OBEYED,), "It hangs.", trouble="it was ended", last_lines=("last & least",))


@pytest.mark.parametrize(
    ("results", "status"),
    [([CALM], 0), ([CALM, BROKEN], 1), ([CALM, HUNG], 2), ([HUNG, BROKEN], 1), ([], 0)],
)
def test_violations_and_then_programs_without_an_end_make_the_status(
    results: list[Result], status: int
) -> None:
    assert exit_status(results) == status


def test_a_rule_has_the_sums_of_all_scenarios() -> None:
    first, second = in_all([CALM, BROKEN, HUNG])
    assert (first.counts, first.status, first.breaches) == ("5 of 12", "violated", (BREACH,))
    assert (second.counts, second.status) == ("0", "not exercised")


def test_the_text_has_scenarios_rules_and_violations(capsys: pytest.CaptureFixture[str]) -> None:
    print_scenarios([CALM, BROKEN, HUNG])
    lines = capsys.readouterr().out.splitlines()
    assert "  violated    0.0 s  broken    It breaks.; delay did not happen" in lines
    begin = lines.index("rule-1 in broken: The first rule.")
    assert lines[begin + 1 : begin + 5] == [
        "  It is <wrong>. (client a client)", "  line <1>", "  line 2", "  and 4 more",
    ]  # fmt: skip
    assert lines[-3:] == [
        "2 rules in 3 scenarios: 0 obeyed, 1 violated, 1 not exercised",
        "hung: it was ended",
        "  last & least",
    ]


def test_the_page_has_scenarios_rules_and_violations() -> None:
    page = as_html([CALM, BROKEN, HUNG], "x & y")
    for text in (
        "<title>x &amp; y</title>", "It is &lt;wrong&gt;.", "line &lt;1&gt;\nline 2",
        "and 4 more", "it was ended", "last &amp; least", "Rules by scenario",
    ):  # fmt: skip
        assert text in page


def test_the_files_name_scenarios_that_were_not_judged_to_their_end() -> None:
    assert as_json([HUNG])["scenarios"][0]["last_lines"] == ["last & least"]
    calm, broken, hung = ElementTree.fromstring(as_junit([CALM, BROKEN, HUNG]))
    assert [each.get("errors") for each in (calm, broken, hung)] == ["0", "0", "1"]
    assert [each.text for each in hung.iter("error")] == ["last & least"]
    assert [each.text for each in broken.iter("failure")] == ["It is <wrong>.\nline <1>\nline 2"]


def test_a_picture_of_an_earlier_run_is_not_linked(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    pictures_of(page).mkdir()
    old = pictures_of(page) / picture_name("calm")
    old.write_text("of an earlier run")
    assert "calm.html" in as_html([CALM], "x", page)
    _write_pictures([CALM], pictures_of(page), page)
    assert "calm.html" not in as_html([CALM], "x", page)
