"""`ottla oracle`: ledgers, logs of a directory and of a broker; the examples in its document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from ottla.__main__ import main
from ottla.testing import Ottla
from ottla.verdict.oracle.anomalies import ANOMALIES, table
from ottla.verdict.oracle.history import read_history
from ottla.verdict.oracle.oracle import judge_history
from tests.project_files import ROOT
from tests.verdict.histories import history

DOCUMENT = (ROOT / "docs/reference/oracle.md").read_text()


def written(path: Path, lines: list[Any]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_the_document_has_the_table_of_anomalies() -> None:
    assert table() in DOCUMENT


def test_each_example_in_the_document_has_its_anomaly_alone() -> None:
    examples = re.findall(r"^### (\S+)\n.*?^```json\n(.*?)^```$", DOCUMENT, re.M | re.S)
    assert [name for name, _ in examples] == list(ANOMALIES)
    for name, text in examples:
        assert set(judge_history(read_history(text.splitlines())).counts) == {name}


def test_a_right_history_has_exit_status_0(tmp_path: Path, capsys: Any) -> None:
    lines = history(3).lines
    assert main(["oracle", "--history", written(tmp_path / "h.jsonl", lines)]) == 0
    assert f"{len(lines)} lines: no anomalies" in capsys.readouterr().out


def test_an_anomaly_has_exit_status_1_and_is_shown(tmp_path: Path, capsys: Any) -> None:
    lines = [
        {"process": 1, "op": "send", "type": "ok", "records": {"x-0": [[0, "a"], [1, "b"]]}},
        {"process": 2, "op": "poll", "type": "ok", "records": {"x-0": [[0, "a"], [0, "a"]]}},
    ]
    path = written(tmp_path / "h.jsonl", lines)
    assert main(["oracle", "--history", path]) == 1
    assert re.search(
        r"int-nonmonotonic-poll +x-0 +0 +2 +process 2 was at 1", capsys.readouterr().out
    )
    assert main(["oracle", "--history", path, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["anomalies"] == {"int-nonmonotonic-poll": 1}
    assert report["findings"][0]["offset"] == 0
    assert main(["oracle", "--history", path, "--allow", "int-nonmonotonic-poll"]) == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "expected --history"),
        (["--history", "missing.jsonl"], "No such file"),
        (["--history", "{}", "--allow", "g1b"], "no anomaly is called g1b"),
        (["--history", "{}", "--data-dir", "missing"], "cannot read missing"),
        (["--history", "{}", "--data-dir", "a", "--bootstrap", "b:1"], "not both"),
    ],
    ids=str,
)
def test_an_oracle_that_cannot_run_has_exit_status_2(
    words: list[str], reason: str, tmp_path: Path, capsys: Any
) -> None:
    path = written(tmp_path / "h.jsonl", history(3).lines)
    assert main(["oracle", *(path if word == "{}" else word for word in words)]) == 2
    assert reason in capsys.readouterr().err


def test_a_line_that_is_no_operation_has_exit_status_2(tmp_path: Path, capsys: Any) -> None:
    assert main(["oracle", "--history", written(tmp_path / "h.jsonl", [{"op": "poll"}])]) == 2
    assert "line 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the ledger is empty"),
        ("\n\n", "the ledger is empty"),
        ("complete garbage", "line 1"),
        ("\x00\x00", "line 1"),
        ('{"process": 1, "op": "send", "type": "ok", "records": {"x-0": [[0, 1]]}}', "compare"),
        ('{"process": 1, "op": "poll", "type": "begin"}', "nothing to compare"),
        ('{"process": 1, "op": "commit", "type": "ok", "txn": "T"}', "nothing to compare"),
    ],
)
def test_a_ledger_that_could_show_nothing_has_exit_status_2(
    text: str, reason: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "h.jsonl").write_text(text)
    assert main(["oracle", "--history", str(tmp_path / "h.jsonl")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert reason in printed.err


def _produced(broker: Ottla) -> list[dict[str, Any]]:
    """A committed transaction, an aborted one, and a plain record, with their ledger."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "shop"})
    producer.init_transactions()
    lines: list[dict[str, Any]] = []
    value = 0
    for txn, end in (("T1", "commit"), ("T2", "abort"), ("T3", "commit")):
        producer.begin_transaction()
        for _ in range(3):
            value += 1
            producer.produce("orders", str(value), partition=0)
            sent = {"orders-0": [[-1, value]]}
            line = {"process": 1, "op": "send", "txn": txn, "records": sent}
            lines += [{**line, "type": "begin"}, {**line, "type": "ok"}]
        producer.flush()
        (producer.commit_transaction if end == "commit" else producer.abort_transaction)()
        lines += [{"process": 1, "op": end, "type": kind, "txn": txn} for kind in ("begin", "ok")]
    return lines


def test_logs_of_a_directory_and_of_a_broker_are_compared(tmp_path: Path, capsys: Any) -> None:
    with Ottla() as broker:
        broker.create_topic("orders")
        lines = _produced(broker)
        right = written(tmp_path / "right.jsonl", lines)
        lost = {"process": 2, "op": "send", "type": "ok", "records": {"orders-0": [[-1, 99]]}}
        wrong = written(tmp_path / "wrong.jsonl", [{**lost, "type": "begin"}, lost, *lines])
        # An application that takes its aborted transaction for a committed one.
        swapped = [
            {**line, "op": "commit" if line["op"] == "abort" else line["op"]} for line in lines
        ]
        missing = written(tmp_path / "missing.jsonl", swapped)
        assert main(["oracle", "--history", right, "--bootstrap", broker.bootstrap]) == 0
        assert main(["oracle", "--history", wrong, "--bootstrap", broker.bootstrap]) == 1
        assert "99 is not in the log" in capsys.readouterr().out
        broker.stop()
        data = str(broker.data_dir)
        assert main(["oracle", "--history", right, "--data-dir", data]) == 0
        assert main(["oracle", "--history", wrong, "--data-dir", data]) == 1
        assert "99 is not in the log" in capsys.readouterr().out
        assert main(["oracle", "--history", missing, "--data-dir", data, "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["anomalies"] == {"lost-write": 3}
