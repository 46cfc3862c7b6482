"""The audit on Spark finds all planted faults of one directory in one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.audit.rules import RULES
from ottla.spark.audit.rows import NoLogs, metadata_of, parts_in
from ottla.spark.audit.run import Copy, Logs, run
from tests.audit.planted import FAULTS, INPUT, OUTPUT, clean, planted
from tests.audit.world import World
from tests.spark.exactly_once.copying import Copy as Copied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ottla.testing import Ottla

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


@pytest.mark.timeout(600)  # the command has a JVM of its own
def test_the_input_ends_where_a_query_has_committed_in_its_checkpoint(
    spark: SparkSession, ottla_broker: Ottla, tmp_path: Path
) -> None:
    for topic in ("orders", "copies"):
        ottla_broker.create_topic(topic, partitions=2)
    ottla_broker.produce("orders", [(f"key-{number}", "a broom") for number in range(20)])
    Copied(ottla_broker.bootstrap_servers, "orders", "copies", str(tmp_path)).run(spark)
    ottla_broker.produce("orders", [("late", "a pan")])  # the query has not seen it
    ottla_broker.stop()

    data, checkpoint = ottla_broker.data_dir, tmp_path / "checkpoint"
    command = [sys.executable, "-m", "ottla", "audit", str(data), "--checkpoint", str(checkpoint)]
    command += ["--input", "orders", "--output", "copies"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    whole = run(spark, logs_of(data), copy=Copy("orders", "copies"))
    assert whole.counts == {"key-lost": 1}
