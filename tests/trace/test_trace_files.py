"""`ottla trace pcap` and `ottla trace parquet`."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ottla.__main__ import main
from ottla.trace.events import events_of
from ottla.trace.rows import WAITED_EVENTS, Rows

from ..lab.captures import talk
from ..lab.captures.packing import Connection, pcap

EVENTS: list[dict[str, Any]] = [
    {
        "seq": 1, "at_ms": 1_700_000_000_001, "kind": "request", "node_id": 1, "connection": "c",
        "listener": "PLAINTEXT", "principal": "User:me", "client_id": "me", "api": "Produce",
        "version": 9, "correlation_id": 4,
        "request": {
            "transactional_id": "shop", "acks": -1,
            "topic_data": [{"name": "orders", "partition_data": [{"index": 3}]}],
            "batches": [
                {"topic": "orders", "partition": 3, "producer_id": 5, "producer_epoch": 2}
            ],
        },
    },
    {
        "seq": 2, "at_ms": 1_700_000_000_002, "kind": "records_appended", "cause": 1,
        "topic": "orders", "partition": 3, "log_end_offset": 8,
    },
    {
        "seq": 3, "at_ms": 1_700_000_000_002, "kind": "fault", "cause": 1, "id": 1,
        "action": {"kind": "hold"},
    },
    {
        "seq": 4, "at_ms": 1_700_000_000_003, "kind": "answer", "cause": 1, "api": "Produce",
        "took_us": 1500, "response": {"responses": [{"error_code": 6}]},
    },
    {
        "seq": 5, "at_ms": 1_700_000_000_004, "kind": "connection_closed", "node_id": 1,
        "connection_id": "c",
    },
]  # fmt: skip
WRONG_TYPE = json.dumps({**EVENTS[0], "node_id": "one"}) + "\n"


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


def written(events: list[dict[str, Any]], tmp_path: Path) -> list[dict[str, Any]]:
    """The rows of a trace by their sequence, as Parquet has them."""
    import pyarrow.parquet as pq

    trace, out = tmp_path / "trace.jsonl", tmp_path / "trace.parquet"
    trace.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert main(["trace", "parquet", str(trace), "--out", str(out)]) == 0
    rows: list[dict[str, Any]] = pq.read_table(out).to_pylist()
    return sorted(rows, key=lambda row: row["sequence"])


def test_a_trace_becomes_a_typed_table(tmp_path: Path) -> None:
    rows = written(EVENTS, tmp_path)
    assert [row["sequence"] for row in rows] == [1, 2, 3, 4, 5]
    request, answer, appended, fault, closed = rows[0], rows[3], rows[1], rows[2], rows[4]
    assert request["time"] == datetime(2023, 11, 14, 22, 13, 20, 1000, UTC)
    assert (request["kind"], request["api"], request["version"]) == ("request", "Produce", 9)
    assert (request["node_id"], request["listener"]) == (1, "PLAINTEXT")
    assert request["duration_ms"] == answer["duration_ms"] == 1.5
    assert request["error_codes"] == answer["error_codes"] == ["NOT_LEADER_OR_FOLLOWER"]
    owner = (request["transactional_id"], request["producer_id"], request["producer_epoch"])
    assert owner == ("shop", 5, 2)
    assert request["topics"] == ["orders"]
    assert request["partitions"] == [{"topic": "orders", "partition": 3}]
    assert [each["log_end_offset"] for each in json.loads(request["changes"])] == [8]
    assert [each["action"] for each in json.loads(request["faults"])] == [{"kind": "hold"}]
    assert json.loads(request["request"])["acks"] == -1
    assert (answer["cause"], answer["client_id"], answer["transactional_id"]) == (1, "me", "shop")
    assert appended["partitions"] == [{"topic": "orders", "partition": 3}]
    assert fault["cause"] == 1
    assert closed["connection"] == "c"


def test_rows_of_requests_do_not_wait_for_ever() -> None:
    """What comes long after the answer is in a row of its own alone."""
    request, appended, _, answer, _ = EVENTS
    other = {"seq": 0, "at_ms": 0, "kind": "clock_jumped", "by_ms": 1}
    others = [{**other, "seq": 10 + number} for number in range(WAITED_EVENTS + 1)]
    late = {**appended, "seq": 100_000}
    events = [request, answer, *others, late]
    found = [row for row in Rows().of(events_of(events)) if row["kind"] == "request"]
    assert [row["changes"] for row in found] == [None]
    rows = list(Rows().of(events_of([request, answer, *others[:5], late])))
    assert "log_end_offset" in rows[-1]["changes"]


def test_a_file_of_two_runs_keeps_all_rows(tmp_path: Path) -> None:
    assert len(written([*EVENTS, *EVENTS], tmp_path)) == 10


def test_a_capture_becomes_a_table(capture: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    assert main(["trace", "pcap", str(capture), "--out", str(trace)]) == 0
    rows = written([json.loads(text) for text in trace.read_text().splitlines()], tmp_path)
    assert [row["kind"] for row in rows] == [
        "connection_opened", "request", "answer", "connection_closed",
    ]  # fmt: skip
    assert rows[1]["transactional_id"] == "shop"
    assert rows[1]["duration_ms"] == 1.0


@pytest.mark.parametrize("broken", ["no json\n{}\n", '{"seq": 1}\n{}\n', WRONG_TYPE])
def test_a_file_that_is_no_trace_makes_no_table(
    broken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, out = tmp_path / "trace.jsonl", tmp_path / "trace.parquet"
    trace.write_text(broken)
    assert main(["trace", "parquet", str(trace), "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith(f"ottla: trace parquet {trace}: ")
    assert not out.exists()


def test_without_pyarrow_the_command_names_the_extra(tmp_path: Path) -> None:
    done = without("pyarrow", "trace", "parquet", "t", "--out", str(tmp_path / "x"))
    assert done.returncode == 2
    assert done.stderr == "ottla: writing Parquet needs pyarrow: pip install 'ottla[parquet]'\n"
