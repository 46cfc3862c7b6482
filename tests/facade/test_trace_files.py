"""`ottla trace pcap` and `ottla trace parquet`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.__main__ import main

from ..lab.captures import talk
from ..lab.captures.packing import Connection, pcap


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    made = Connection().open().ask(talk.end_request(1)).answer(talk.end_answer(1)).close()
    other = Connection(broker=("127.0.0.1", 443)).open().ask(b"GET / HTTP/1.1\r\n\r\n")
    file = tmp_path / "kafka.pcap"
    file.write_bytes(pcap([*made.packets, *other.packets]))
    return file


def without(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command where a module is not installed."""
    program = (
        "import sys; from ottla.__main__ import main; "
        f"sys.modules[{module!r}] = None; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )


def test_a_capture_becomes_a_trace_that_is_shown(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "trace.jsonl"
    assert main(["trace", "pcap", str(capture), "--out", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "4 events of 1 connection in 11 packets",
        "skipped 1 connection to 127.0.0.1:443: not Kafka",
    ]
    assert main(["trace", "show", str(out), "--api", "EndTxn"]) == 0
    assert " shop commit -> ok 1.0 ms" in capsys.readouterr().out


def test_events_go_to_standard_output_without_a_file(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "pcap", str(capture), "--port", "9092"]) == 0
    printed = capsys.readouterr()
    kinds = [json.loads(text)["kind"] for text in printed.out.splitlines()]
    assert kinds == ["connection_opened", "request", "answer", "connection_closed"]
    assert printed.err == "4 events of 1 connection in 11 packets\n"


def test_the_summary_is_json_on_demand(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "trace.jsonl")
    assert main(["trace", "pcap", str(capture), "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "packets": 11, "events": 4, "connections": 1,
        "skipped": ["skipped 1 connection to 127.0.0.1:443: not Kafka"],
    }  # fmt: skip


def test_a_file_that_is_no_capture_is_refused_with_a_sentence(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = capture.with_name("text")
    text.write_text("no capture")
    for file, why in ((text, "neither pcap nor pcapng"), (text / "x", "Not a directory")):
        assert main(["trace", "pcap", str(file)]) == 2
        assert why in capsys.readouterr().err
    assert main(["trace", "pcap", str(capture), "--out", str(capture)]) == 2
    assert "is the file that is read" in capsys.readouterr().err


def test_without_dpkt_the_command_names_the_extra(capture: Path) -> None:
    done = without("dpkt", "trace", "pcap", str(capture))
    assert done.returncode == 2
    assert done.stderr == "ottla: reading captures needs dpkt: pip install 'ottla[pcap]'\n"
