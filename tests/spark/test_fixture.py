"""The fixture `spark_kafka` beside a session of the project, which is the one of these tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.spark.connector import ConnectorJars, SparkUnavailable
from ottla.spark.session import (
    check_session,
    chosen_settings,
    foreign_python,
    running_session,
    session,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["pytester"]

PROJECT = """
    import subprocess
    import sys

    import pytest
    from ottla.spark.testing import assert_killed, kill_in_batch
    from pyspark.sql import SparkSession

    def test_the_session_is_the_one_that_runs(spark_kafka, ottla_topic, ottla):
        assert spark_kafka.session is SparkSession.getActiveSession()
        assert spark_kafka.session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
        ottla.produce(ottla_topic, ["a"], transactional_id="t", commit=False)
        assert spark_kafka.read(ottla_topic).count() == 0
        level = {"kafka.isolation.level": "read_uncommitted"}
        assert spark_kafka.read(ottla_topic, **level).count() == 1
        assigned = '{"%s": [0]}' % ottla_topic
        assert spark_kafka.read(assign=assigned, **level).count() == 1

    def test_a_broker_of_the_test_has_rows_of_its_own(spark_kafka, ottla_broker):
        mine = spark_kafka.on(ottla_broker)
        rows = mine.session.createDataFrame([("k", "v")], ["key", "value"])
        mine.write(rows, "orders", includeHeaders=False)
        assert [bytes(row.value) for row in mine.read("orders").collect()] == [b"v"]

    def rows(spark_kafka):
        return spark_kafka.session.range(4).repartition(2)

    def sleeper():
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    def test_fails_because_nothing_was_killed(spark_kafka):
        with sleeper() as process:
            try:
                assert kill_in_batch(rows(spark_kafka), process.pid, row=4).count() == 4
                assert process.poll() is None
            finally:
                process.kill()

    def test_fails_and_says_why(spark_kafka):
        with sleeper() as process:
            kill_in_batch(rows(spark_kafka), process.pid, row=4)
            process.kill()
        assert "its own reason" == ""

    def test_a_kill_that_happens(spark_kafka):
        with sleeper() as process:
            assert kill_in_batch(rows(spark_kafka), process.pid, row=2).count() == 4
            assert process.wait(10) == -9
        assert_killed()
        with pytest.raises(ValueError, match="counted from 1"):
            kill_in_batch(rows(spark_kafka), 1, row=0)
"""


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_project_keeps_its_session_and_misses_no_kill(
    spark: SparkSession, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # with it pytest shows each failure twice
    pytester.makepyfile(test_project=textwrap.dedent(PROJECT))
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
        shown = result.stdout.str()
        assert result.parseoutcomes() == {"passed": 3, "failed": 2}, shown
        assert shown.count("kill_in_batch(row=4) has killed nothing: no task came to") == 1
        assert "FAILED test_project.py::test_fails_and_says_why - AssertionError" in shown
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
        assert spark.range(3).count() == 3  # it was not stopped
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_session_that_runs_is_taken_as_it_is_or_refused(
    spark: SparkSession, pytester: pytest.Pytester
) -> None:
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    assert running_session() is spark
    assert session("another") is spark
    assert session("same", settings={"spark.sql.shuffle.partitions": str(partitions)}) is spark
    one = str(spark.conf.get("spark.jars")).split(",")[0]
    assert session("jars", settings={"spark.jars": one}) is spark
    with pytest.raises(SparkUnavailable, match=r"spark.sql.shuffle.partitions=2, and 77 is wanted"):
        session("another", settings={"spark.sql.shuffle.partitions": "77"})
    pytester.makeini("[pytest]\nottla_spark_settings =\n    spark.sql.shuffle.partitions = 77")
    pytester.makepyfile(test_it="def test_it(spark_kafka): pass")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio")
    assert result.parseoutcomes() == {"errors": 1}
    assert "and 77 is wanted" in result.stdout.str()
    assert spark.conf.get("spark.sql.shuffle.partitions") == partitions


class WithoutConnector:
    """A session whose Kafka source is missing. Any: as Spark's methods."""

    def __getattr__(self, name: str) -> Any:
        if name == "load":
            from pyspark.errors import AnalysisException

            raise AnalysisException("Failed to find data source: kafka")
        return self

    def __call__(self, *_: object) -> Any:
        return self


def test_a_session_without_the_connector_is_refused() -> None:
    made: Any = WithoutConnector()  # Any: a stand-in
    with pytest.raises(SparkUnavailable, match=r"has no Kafka connector: .*connector.jars\(\)"):
        check_session(made, {})
    check_session(made, {}, with_connector=False)


def test_a_python_of_tasks_without_ottla_is_named(tmp_path: Path) -> None:
    own = Path(sys.executable)
    assert foreign_python("local[2]", str(own)) == ""
    assert foreign_python("spark://host:7077", "/no/such/python3") == ""
    lacking = tmp_path / "python3"
    lacking.write_text("#!/bin/sh\nexit 1\n")
    lacking.chmod(0o755)
    for python in (str(lacking), "/no/such/python3"):
        assert f"Spark's tasks run {python}, which has no ottla" in foreign_python("local", python)
    lacking.write_text(f'#!/bin/sh\nexec {own} "$@"\n')
    assert foreign_python("local", str(lacking)) == ""


def test_a_process_has_a_warehouse_of_its_own_until_its_end(tmp_path: Path) -> None:
    program = (
        "import os\n"
        "from ottla.spark.session import choose_warehouse\n"
        "one, other = choose_warehouse(), choose_warehouse()\n"
        "assert one != other\n"
        "(one / 'orders').mkdir(parents=True)\n"
        "if not os.fork():\n"
        "    raise SystemExit(0)\n"
        "os.wait()\n"
        "assert (one / 'orders').is_dir()\n"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert list(tmp_path.iterdir()) == []


def test_jars_and_packages_are_added_and_other_settings_replaced(tmp_path: Path) -> None:
    found = chosen_settings(
        ConnectorJars((tmp_path / "kafka.jar",), "here"),
        {
            "spark.jars": "/own.jar",
            "spark.jars.packages": "org:own:1",
            "spark.sql.session.timeZone": "Asia/Tokyo",
        },
    )
    assert found["spark.jars"] == f"{tmp_path}/kafka.jar,/own.jar"
    assert found["spark.jars.packages"] == "org:own:1"
    assert found["spark.sql.session.timeZone"] == "Asia/Tokyo"
    nothing = chosen_settings(ConnectorJars((), "not used"), {"spark.jars": "/own.jar"})
    assert nothing["spark.jars"] == "/own.jar"
