"""`ottla trace show --html`, `trace view` and `trace export`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from signal import SIGINT

import pytest

from ottla.__main__ import main
from ottla.picture.page import render_page

EVENT = {"seq": 1, "at_ms": 0, "kind": "leaders_changed", "topic": "t", "leaders": []}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(EVENT) + "\n")
    return file


def test_show_writes_a_page(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.html"
    assert main(["trace", "show", str(trace), "--html", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert out.read_text() == render_page(trace.read_text().splitlines(), title="a.jsonl")


def test_no_command_writes_over_its_trace(trace: Path) -> None:
    before = trace.read_text()
    assert main(["trace", "show", str(trace), "--html", str(trace)]) == 2
    assert main(["trace", "export", str(trace), "--format", "otlp", "--out", str(trace)]) == 2
    assert trace.read_text() == before


@pytest.mark.parametrize(
    ("form", "field"), [("perfetto", "traceEvents"), ("otlp", "resourceSpans")]
)
def test_export_writes_json(
    form: str, field: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "export", str(trace), "--format", form]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert field in printed
    out = tmp_path / "out.json"
    words = ["trace", "export", str(trace), "--format", form, "--out", str(out), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(out), "format": form}
    assert json.loads(out.read_text()) == printed


@pytest.mark.parametrize(
    "words", [["show"], ["show", "--html", "OUT"], ["export", "--format", "otlp"]]
)
def test_a_trace_whose_last_line_is_cut_inside_a_character_is_read(
    words: list[str], trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with trace.open("ab") as file:
        file.write('{"seq": 2, "client_id": "é'.encode()[:-1])
    words = [str(tmp_path / "out.html") if each == "OUT" else each for each in words]
    assert main(["trace", words[0], str(trace), *words[1:]]) == 0
    assert capsys.readouterr().err == ""


FETCHES = """
import sys, urllib.request
print("seen", urllib.request.urlopen(sys.argv[1], timeout=5).status, flush=True)
"""


def test_view_serves_a_browser_that_ends_only_with_its_page(trace: Path, tmp_path: Path) -> None:
    script = tmp_path / "browser.py"
    script.write_text(FETCHES)
    environment = {**os.environ, "BROWSER": f"{sys.executable} {script} %s"}
    command = [sys.executable, "-m", "ottla", "trace", "view", str(trace), "--json"]
    viewer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert viewer.stdout is not None
        assert "address" in json.loads(viewer.stdout.readline())
        assert viewer.stdout.readline() == "seen 200\n"
    finally:
        viewer.kill()
        viewer.communicate()


def test_view_serves_the_page_to_this_host_alone_until_it_is_interrupted(trace: Path) -> None:
    command = [sys.executable, "-m", "ottla", "trace", "view", str(trace), "--no-browser", "--json"]
    viewer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert viewer.stdout is not None
        address = json.loads(viewer.stdout.readline())["address"]
        host = address.removeprefix("http://").rstrip("/")
        assert host.startswith("127.0.0.1:")
        seen = []
        for path, name in (("/", host), ("/other", host), ("/", "elsewhere.example")):
            connection = HTTPConnection(host, timeout=10)
            connection.request("GET", path, headers={"Host": name})
            answer = connection.getresponse()
            seen.append((answer.status, answer.read().decode()))
            connection.close()
        page = render_page(trace.read_text().splitlines(), title="a.jsonl")
        assert seen == [(200, page), (404, ""), (404, "")]
        viewer.send_signal(SIGINT)
        assert viewer.wait(10) == 0
    finally:
        viewer.kill()
        viewer.communicate()
