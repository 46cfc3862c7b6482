"""The rules find each planted fault, name it, and report nothing on clean logs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from ottla.audit.exactly_once import FateFold, KeyFold
from ottla.audit.rows import KeyRow, LogBatch
from ottla.audit.rules import RULES, Finding, Severity
from ottla.audit.whole import Outcome, audit
from ottla.protocol.batch import read_header
from ottla.protocol.records import Record, records_in
from ottla.spark.audit.rows import (
    LogPart,
    file_blocks,
    log_rows,
    logs_of,
    metadata_of,
    parts_in,
    rows_of,
)
from ottla.spark.kafka_log.blocks import Block
from tests.audit.planted import FAULTS, INPUT, OUTPUT, clean, planted
from tests.audit.world import World

# A fault may break a second rule, because the one is the cause of the other.
ALSO = {
    "marker-epoch-back": {"unfinished-decision", "commit-without-decision"},
    "offset-beyond-end": set[str](),
    "illegal-transition": {"unfinished-decision"},
    "state-producer-changed": {"overdue-transaction"},
    "partitions-lost": {"hanging-transaction"},
    "marker-missing": {"hanging-transaction"},
    "epoch-unassigned": {"hanging-transaction"},
    "offset-back": set[str](),
}


def keys_of(directory: Path) -> Iterator[KeyRow]:
    """The copies of keys in the input and the output, with their fates."""
    parts = [each for each in parts_in(str(directory)) if each.topic in (INPUT, OUTPUT)]
    for _, several in groupby(parts, key=lambda each: (each.topic, each.partition)):
        fold = FateFold()
        batches = [each for part in several for each in batches_of(part)]
        for batch, records in reversed(batches):
            fate = fold.fate(batch)
            for record in records:
                key = (record.key or b"").decode()
                is_output = batch.topic == OUTPUT
                yield KeyRow(key, is_output, fate, batch.topic, batch.partition, record.offset)


def batches_of(part: LogPart) -> Iterator[tuple[LogBatch, list[Record]]]:
    """The batches of a part, with the records of data batches."""
    rows = iter([row for row in log_rows(part) if isinstance(row, LogBatch)])
    for block in file_blocks(part, True):
        assert isinstance(block, Block)
        for start in block.starts.tolist():
            row = next(rows)
            header = read_header(block.data, start)
            yield row, [] if row.control else list(records_in(block.data, start, header))


def audited(directory: Path) -> Outcome:
    logs = logs_of(str(directory))
    # The rows in plain Python are those that Spark distributes.
    assert rows_of(parts_in(str(directory)), metadata_of(str(directory))) == logs
    outcome = audit(logs)
    rows = sorted(keys_of(directory), key=lambda row: row.key)
    for key, copies in groupby(rows, key=lambda row: row.key):
        fold = KeyFold(key)
        for row in copies:
            fold.row(row)
        outcome.findings += fold.end()
    return outcome


def shown(findings: list[Finding]) -> str:
    return "\n".join(f"{each.rule} {each.place}: {each.text} {each.evidence}" for each in findings)


def test_clean_logs_have_no_findings(tmp_path: Path) -> None:
    world = World()
    clean(world)
    outcome = audited(world.write(tmp_path))
    assert outcome.findings == [], shown(outcome.findings)
    assert sum(each.committed for each in outcome.partitions) == 10
    assert sum(each.aborted for each in outcome.partitions) == 3


@pytest.mark.parametrize("rule", RULES)
def test_each_planted_fault_is_found_and_named(rule: str, tmp_path: Path) -> None:
    world = World()
    clean(world)
    planted(world, rule)
    findings = audited(world.write(tmp_path)).findings
    found = {each.rule for each in findings}
    assert rule in found, shown(findings)
    assert found <= {rule} | ALSO.get(rule, set()), shown(findings)
    (first, *_) = [each for each in findings if each.rule == rule]
    assert first.evidence != "[]" or rule == "state-unreadable"
    assert first.text


def test_every_rule_has_a_planted_fault() -> None:
    assert FAULTS.keys() == RULES.keys()
    assert len(FAULTS) >= 25


def test_all_faults_in_one_directory_are_found(tmp_path: Path) -> None:
    world = World()
    clean(world)
    for rule in FAULTS:
        planted(world, rule)
    findings = audited(world.write(tmp_path)).findings
    assert {each.rule for each in findings} == RULES.keys()


def test_a_hanging_transaction_comes_with_the_commands_that_end_it(tmp_path: Path) -> None:
    world = World()
    planted(world, "hanging-transaction")
    (found,) = audited(world.write(tmp_path)).findings
    assert found.severity is Severity.ERROR
    name, pid = "hanging-transaction-0", found.producer_id
    assert f"ottla txn abort --partition {name} --producer-id {pid}" in found.command
    assert "--partition 0 --start-offset 3" in found.command
