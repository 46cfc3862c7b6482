"""The connector's jars: cached, given, from Maven, from Ivy, or a reason for their lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.spark import connector
from ottla.spark.connector import SparkUnavailable, connector_jars, newest

NAMES = (
    "spark-sql-kafka-0-10_2.13-4.2.0.jar",
    "spark-token-provider-kafka-0-10_2.13-4.0.0.jar",
    "kafka-clients-3.9.2.jar",
    "commons-pool2-2.13.1.jar",
)


def put_jars(directory: Path, prefix: str = "") -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (directory / f"{prefix}{name}").touch()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, PySpark 4.2.0, and a Java that is new enough."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("OTTLA_SPARK_JARS", raising=False)
    monkeypatch.setattr(connector, "pyspark_version", lambda: "4.2.0")
    monkeypatch.setattr(connector, "need_java", lambda: None)
    return tmp_path / "ottla" / "spark-kafka-4.2.0"


def fails(version: str, work: Path) -> str:
    raise SparkUnavailable(f"no way to get {version}")


def test_cached_jars_are_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "_by_maven", fails)
    monkeypatch.setattr(connector, "_by_ivy", fails)
    put_jars(cache)
    jars = connector_jars()
    assert [path.name for path in jars.paths] == list(NAMES)
    assert jars.how == "connector 4.2.0, cached"


def test_jars_of_an_offline_machine_can_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_jars(tmp_path / "given")
    monkeypatch.setenv("OTTLA_SPARK_JARS", str(tmp_path / "given"))
    assert {path.parent for path in connector_jars().paths} == {tmp_path / "given"}


def test_without_maven_ivy_fetches_them(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ivy(_version: str, work: Path) -> str:
        put_jars(work / "jars", prefix="org.apache.spark_")
        (work / "jars" / "org.apache.hadoop_hadoop-client-api-3.4.1.jar").touch()
        return "fetched by Ivy"

    monkeypatch.setattr(connector, "_by_ivy", ivy)
    monkeypatch.setattr("shutil.which", lambda _: None)
    jars = connector_jars()
    assert jars.how == "connector 4.2.0, fetched by Ivy"
    assert len(list(cache.iterdir())) == len(jars.paths) == 4, "only jars that Spark lacks"


def test_incomplete_jars_are_not_cached(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(_version: str, work: Path) -> str:
        (work / "jars").mkdir()
        (work / "jars" / NAMES[0]).touch()
        return "half"

    monkeypatch.setattr(connector, "_by_maven", half)
    monkeypatch.setattr(connector, "_by_ivy", fails)
    with pytest.raises(SparkUnavailable, match=r"spark-token-provider.*no way to get 4\.2\.0"):
        connector_jars()
    assert list(cache.parent.iterdir()) == []


@pytest.mark.parametrize("published", ["4.1.4", "4.1.3", "4.1.0"])
def test_a_pyspark_without_a_connector_gets_the_one_before(tmp_path: Path, published: str) -> None:
    asked = []

    def maven(version: str, work: Path) -> str:
        asked.append(version)
        if version != published:
            name = "org.apache.spark:spark-sql-kafka-0-10_2.13:jar"
            raise SparkUnavailable(f"mvn: {name}:{version} was not found in a repository")
        return f"{version} copied by Maven"

    assert newest(maven, "4.1.4", tmp_path) == f"{published} copied by Maven"
    assert asked == [f"4.1.{patch}" for patch in range(4, int(published[-1]) - 1, -1)]


@pytest.mark.parametrize("why", ["no space left", "spark-sql-kafka-0-10_2.13: Host repo not found"])
def test_without_a_network_no_other_connector_is_tried(tmp_path: Path, why: str) -> None:
    asked = []

    def offline(version: str, work: Path) -> str:
        asked.append(version)
        raise SparkUnavailable(why)

    with pytest.raises(SparkUnavailable, match=why):
        newest(offline, "4.1.4", tmp_path)
    assert asked == ["4.1.4"]


@pytest.mark.parametrize("version", ["3.5.6", "4.2.1", "4.10.0", "5.0.0"])
def test_another_pyspark_is_named_with_the_versions_that_work(
    version: str,
) -> None:
    with pytest.raises(SparkUnavailable, match=rf"PySpark {version} .* 4\.0\.0 to 4\.2\.0"):
        connector.need_pyspark(version)


def test_the_versions_of_pyspark_are_those_of_the_extra() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    pin = f"pyspark>={connector.OLDEST_PYSPARK},<={connector.NEWEST_PYSPARK}"
    assert pin in project
    assert max(connector.COMPANIONS) == connector.NEWEST_PYSPARK


def test_a_missing_java_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkUnavailable, match="Java 17"):
        connector.need_java()


@pytest.mark.parametrize(("version", "is_new_enough"), [("11.0.2", False), ("17.0.1", True)])
def test_java_must_be_new_enough(
    version: str, is_new_enough: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if is_new_enough:
        connector.need_java()
    else:
        with pytest.raises(SparkUnavailable, match="Java 17"):
            connector.need_java()
