"""Failing tests of a user's project: their reports and pages name what only the history shows.

The project is in `project/`. Each of its files has a test that fails for one cause, which neither
the test nor its assertion names. All run once, in a pytest of their own.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from ...project_files import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.clients, pytest.mark.timeout(260)]

PROJECT: Final = Path(__file__).parent / "project"


class Case(NamedTuple):
    """A story: its findings, that of the likely cause first, and events that its page has to have.

    Attributes:
        events: fields of each.
        decides: fields of the event that the likely cause leads to, where the mistake is visible.
    """

    findings: tuple[str, ...]
    events: tuple[Mapping[str, Any], ...]
    decides: Mapping[str, Any]


CASES: Final = {
    "01": Case(
        (
            r"orders-0 has the same batch twice, at 1 and 2: .* enable.idempotence is off",
            r"Fault rule 1 \(drop_answer close=True\) acted on Produce of shop. It was added by .*"
            r"story_01.py:\d+ in network",
        ),
        ({"kind": "fault"}, {"kind": "answer", "api": "Produce"}),
        {"kind": "request", "api": "Produce", "client_id": "shop"},
    ),
    "02": Case(
        (
            r"InitProducerId of billing-2 .* aborted T2 of billing \(billing-1\), and fenced",
            r"EndTxn of billing-1 for billing was refused: INVALID_PRODUCER_EPOCH",
        ),
        ({"kind": "marker_appended", "commit": False}, {"kind": "decision_refused"}),
        {"kind": "request", "api": "InitProducerId", "client_id": "billing-2"},
    ),
    "03": Case(
        (r"report reads payments-0 with isolation.level=read_uncommitted, .* which was aborted$",),
        ({"kind": "marker_appended", "commit": False},),
        {"kind": "request", "api": "Fetch", "client_id": "report"},
    ),
    "04": Case(
        (r"Group renderers lost a member \d times: .* session.timeout.ms=6000",),
        (
            {"kind": "group_transition", "before": "Stable", "after": "PreparingRebalance"},
            {"kind": "decision_refused", "code": "UNKNOWN_MEMBER_ID"},
        ),
        {"kind": "group_transition", "before": "Stable", "after": "PreparingRebalance"},
    ),
    "05": Case(
        (r"T1 of stock-7 \(stock\) is still open .* events-0 from offset 0, and holds up audit",),
        ({"kind": "request", "api": "Fetch", "client_id": "audit"},),
        {"kind": "request", "api": "AddPartitionsToTxn", "client_id": "stock"},
    ),
    "06": Case(
        (r"The broker aborted T1 of booking-1 \(booking\), which was open for 30.0 s",),
        ({"kind": "decision", "by_timer": True}, {"kind": "decision_refused"}),
        {"kind": "decision", "by_timer": True},
    ),
    "07": Case(
        (
            r"reader-2 goes on .* at offset 2, .* reader-1 commits before anything is produced"
            r".* reader-1 left the group \(#\d+\), with nothing produced in between$",
        ),
        ({"kind": "request", "api": "OffsetCommit", "client_id": "reader-1"},),
        {"kind": "request", "api": "OffsetCommit", "client_id": "reader-1"},
    ),
    "08": Case(
        (r"mailer has no committed offset and begins orders-0 at its end, offset 2",),
        ({"kind": "request", "api": "ListOffsets", "client_id": "mailer"},),
        {"kind": "request", "api": "ListOffsets", "client_id": "mailer"},
    ),
    "09": Case(
        (
            r"sensor did not send refused records again, .* refused 2 times with NOT_LEADER_OR_FOLL"
            r"OWER .* no later Produce of sensor was accepted",
            r"The leader moved: degrees-0 to node 2",
        ),
        ({"kind": "leaders_changed"},),
        {"kind": "request", "api": "Produce", "client_id": "sensor"},
    ),
    "10": Case(
        (
            r"Fault rule 1 “a broken disk” \(error code=KAFKA_STORAGE_ERROR\) was there before .*:"
            r" .*story_10.py:\d+ in test_a_refused_record_is_reported added it .* acted 2 times on",
        ),
        ({"kind": "fault", "name": "a broken disk"},),
        {"kind": "request", "api": "Produce", "client_id": "warehouse"},
    ),
    "11": Case(
        (
            r"collector asked orders-0 for offset 2, .* goes on at 6, as auto.offset.reset=latest"
            r" says .* skips offsets 4 to 5",
            r"night deleted the records of orders-0 before offset 4",
        ),
        ({"kind": "request", "api": "DeleteRecords"},),
        {"kind": "request", "api": "ListOffsets", "client_id": "collector"},
    ),
    "12": Case(
        (
            r"packer-2 joined group packers with group.instance.id=packer, which packer-1 had",
            r"Members of group packers read parcels-0, offset 0 and more, 2 times",
        ),
        ({"kind": "decision_refused", "code": "FENCED_INSTANCE_ID"},),
        {"kind": "request", "api": "JoinGroup", "client_id": "packer-2"},
    ),
}


class Run(NamedTuple):
    """What a run of the project printed, and its folder of stories."""

    output: str
    folder: Path

    def file(self, story: str, suffix: str) -> Path:
        """The page or the trace of a story."""
        (found,) = self.folder.glob(f"story_{story}*{suffix}")
        return found

    def model(self, story: str) -> dict[str, Any]:
        """What the page of a story draws."""
        page = self.file(story, ".html").read_text()
        packed = re.search('data-kind="model">([^<]*)<', page)
        assert packed, "no data"
        model: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed[1])))
        return model


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of all tests of the project."""
    folder = tmp_path_factory.mktemp("stories") / "report"
    command = [
        sys.executable, "-m", "pytest", "-c", str(PROJECT / "pytest.ini"), "--rootdir",
        str(PROJECT), "-p", "no:cacheprovider", "-p", "no:warnings", "--ottla-report", str(folder),
        "--basetemp", str(folder.with_name("scratch")), str(PROJECT),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    return Run(done.stdout + done.stderr, folder)


def test_each_test_fails_but_the_one_that_leaves_a_rule(run: Run) -> None:
    assert f"{len(CASES)} failed, 1 passed" in run.output


@pytest.mark.parametrize("story", CASES)
def test_the_report_and_the_page_name_the_cause(run: Run, story: str) -> None:
    model = run.model(story)
    texts = [text for _, text, _ in model["findings"]]
    causes = [text for _, text, is_likely_cause in model["findings"] if is_likely_cause]
    for wanted in CASES[story].findings:
        assert any(re.search(wanted, text) for text in texts), (wanted, texts)
        assert re.search(wanted, run.output, re.MULTILINE)
    assert len(causes) == 1
    assert re.search(CASES[story].findings[0], causes[0]), "the likely cause is another"
    assert re.search(f"likely cause: {CASES[story].findings[0]}", run.output, re.MULTILINE)
    assert "assert " in model["said"]
    linked = {seq for seq, _, _ in model["findings"]}
    linked |= {int(each) for text in texts for each in re.findall(r"#(\d+)", text)}
    rows = model["rows"]
    for seq in linked:
        assert any(a <= seq <= b for a, b in zip(rows["seq"], rows["last"], strict=True)), seq


@pytest.mark.parametrize("story", CASES)
def test_the_likely_cause_leads_to_the_event_that_decides(run: Run, story: str) -> None:
    (seq,) = (seq for seq, _, is_likely_cause in run.model(story)["findings"] if is_likely_cause)
    lines = map(json.loads, run.file(story, ".jsonl").read_text().splitlines())
    event = next(each for each in lines if each["seq"] == seq)
    assert event | CASES[story].decides == event


@pytest.mark.parametrize("story", CASES)
def test_arcs_join_the_reads_of_a_client_with_its_own_commits(run: Run, story: str) -> None:
    model = run.model(story)
    clients = model["rows"]["client"]
    for first, last, kind, _ in model["arcs"]:
        if kind != "copy" and model["rows"]["api"][last] == "OffsetCommit":
            assert clients[first] == clients[last]


@pytest.mark.parametrize("story", CASES)
def test_the_trace_has_the_events_of_the_cause(run: Run, story: str) -> None:
    lines = [json.loads(line) for line in run.file(story, ".jsonl").read_text().splitlines()]
    for wanted in CASES[story].events:
        assert any(wanted.items() <= line.items() for line in lines), wanted
