"""The audit on Spark finds all planted faults of one directory in one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.audit.rules import RULES
from ottla.spark.audit.rows import NoLogs, metadata_of, parts_in
from ottla.spark.audit.run import Copy, Logs, run
from tests.audit.planted import FAULTS, INPUT, OUTPUT, clean, planted
from tests.audit.world import World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def logs_of(directory: Path) -> Logs:
    path = str(directory)
    return Logs(path, parts_in(path), metadata_of(path))


def test_all_planted_faults_are_found_in_one_run(spark: SparkSession, tmp_path: Path) -> None:
    world = World()
    clean(world)
    for rule in FAULTS:
        planted(world, rule)
    directory = world.write(tmp_path / "data")
    copy = Copy(INPUT, OUTPUT)
    report = run(spark, logs_of(directory), copy=copy, parquet=str(tmp_path / "parquet"))
    assert set(report.counts) == RULES.keys()
    assert not report.is_clean
    assert [each.rule for each in report.findings] == sorted(
        (each.rule for each in report.findings), key=list(RULES).index
    )
    stored = spark.read.parquet(str(tmp_path / "parquet" / "findings"))
    assert stored.count() == sum(report.counts.values()) == len(report.findings)
    assert {row.rule for row in stored.select("rule").collect()} == RULES.keys()
    transactions = spark.read.parquet(str(tmp_path / "parquet" / "transactions"))
    assert transactions.where("result = 'commit'").count() > 10


@pytest.mark.slow
def test_clean_logs_have_no_findings_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    world = World()
    clean(world)
    for partition in (world.partition(INPUT), world.partition(OUTPUT)):
        partition.data(50, 0, keys=["a", "b"], transactional=False)
    world.commit_offset("all", INPUT, 2)
    logs = logs_of(world.write(tmp_path / "data"))
    report = run(spark, logs, copy=Copy(INPUT, OUTPUT, key="string(value)", group="all"))
    assert report.counts == {}
    assert report.is_clean
    assert sum(each.committed for each in report.partitions) == 10
    with pytest.raises(NoLogs, match="no topic missing"):
        run(spark, logs, copy=Copy("missing", OUTPUT))
