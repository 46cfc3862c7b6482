"""Finds or downloads the jars of Spark's Kafka connector for the installed PySpark.

Maven copies them if `mvn` exists; else Ivy, a part of PySpark, fetches them. They are kept in the
user's cache, by version, so that later runs work offline. OTTLA_SPARK_JARS names a directory that
contains them. `python -m ottla.spark.connector` fetches them and prints their source.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SCALA = "2.13"
# The connector and its dependencies that Spark lacks. Where the token provider of the same version
# was never published, 4.0.0's has the same interface.
_OLDER_TOKEN_PROVIDER = "4.0.0"
_NEEDED_JARS = (
    "spark-sql-kafka-",
    "spark-token-provider-kafka-",
    "kafka-clients-",
    "commons-pool2-",
)

# Spark has these 50 MB already.
_IN_SPARK = ("org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime")


class SparkUnavailable(Exception):
    """Spark cannot run here; the message names the missing part and the remedy."""


def without(missing: ModuleNotFoundError, what: str = "Spark") -> str:
    """The line that names a library that is missing, and the extra that has it."""
    return f"{what} needs {missing.name}: pip install 'ottla[spark]'"


@dataclass(frozen=True, slots=True)
class Companions:
    """The versions that one version of the connector was built with."""

    kafka_clients: str
    commons_pool2: str


COMPANIONS = {
    "4.0.0": Companions("3.9.0", "2.12.0"),
    "4.2.0": Companions("3.9.2", "2.13.1"),
}


OLDEST_PYSPARK = "4.0.0"
NEWEST_PYSPARK = "4.2.0"  # a newer PySpark appears weeks before its connector


@dataclass(frozen=True, slots=True)
class ConnectorJars:
    """The paths of the jars, and their source in a few words."""

    paths: tuple[Path, ...]
    how: str


def connector_jars() -> ConnectorJars:
    """The jars for `spark.jars`; downloads them if needed.

    Raises SparkUnavailable without PySpark or Java 17, if PySpark is too old or too new, or if
    neither Maven nor Ivy got the jars.
    """
    if given := os.environ.get("OTTLA_SPARK_JARS"):
        return ConnectorJars(_jars_in(Path(given)), f"given by OTTLA_SPARK_JARS={given}")
    version = pyspark_version()
    need_pyspark(version)
    kept = _cache() / f"spark-kafka-{version}"
    how = "cached" if kept.is_dir() else _fetch(version, kept)
    jars = _jars_in(kept)
    found = re.search(r"(\d[\d.]*\d)\.jar$", jars[0].name)
    return ConnectorJars(jars, f"connector {found[1] if found else version}, {how}")


def jars() -> str:
    """The connector's jars, for the setting `spark.jars` of a session of your own.

    Raises SparkUnavailable as `connector_jars`.
    """
    return ",".join(str(path) for path in connector_jars().paths)


def connector_versions(version: str) -> list[str]:
    """The connectors for a PySpark, the best first: its own, then earlier ones of the same minor.

    PySpark's fixes appear before the connectors of the same version.
    """
    major, minor, patch = _numbers(version)
    return [version, *(f"{major}.{minor}.{each}" for each in range(patch - 1, -1, -1))]


def pyspark_version() -> str:
    """The installed PySpark's version, found without importing it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pyspark")
    except PackageNotFoundError:
        raise SparkUnavailable("PySpark is missing: pip install 'ottla[spark]'") from None


def need_pyspark(version: str) -> None:
    """Raise SparkUnavailable unless the connector of this PySpark is published for our Scala."""
    if not _numbers(OLDEST_PYSPARK) <= _numbers(version) <= _numbers(NEWEST_PYSPARK):
        raise SparkUnavailable(
            f"PySpark {version} is installed; Kafka connectors for it are known to be published "
            f"from {OLDEST_PYSPARK} to {NEWEST_PYSPARK}: pip install 'ottla[spark]', or give the "
            "connector's jars by OTTLA_SPARK_JARS=DIRECTORY"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def need_java() -> None:
    """Raise SparkUnavailable if Java is missing or too old for Spark 4."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=False
        ).stderr
    except OSError:
        found_by = f" (JAVA_HOME is {home})" if home else ""
        raise SparkUnavailable(f"Java is missing{found_by}: Spark needs Java 17 or newer") from None
    found = re.search(r'version "(\d+)', output)
    if found is None or int(found[1]) < 17:
        raise SparkUnavailable(f"Spark needs Java 17 or newer; {java} is {output.splitlines()[:1]}")


def _fetch(version: str, kept: Path) -> str:
    """Put the jars into `kept`, all or none; return their source."""
    need_java()
    kept.parent.mkdir(parents=True, exist_ok=True)
    troubles = []
    for way in (_by_maven, _by_ivy):
        with tempfile.TemporaryDirectory(dir=kept.parent) as work:
            try:
                how = newest(way, version, Path(work))
                jars = _jars_in(Path(work) / "jars")
            except SparkUnavailable as error:
                troubles.append(str(error))
                continue
            ready = Path(work) / "ready"
            ready.mkdir()
            for jar in jars:
                shutil.copy(jar, ready)
            try:
                ready.rename(kept)
            except OSError:
                if not kept.is_dir():  # else another process was faster, with the same jars
                    raise
            return how
    raise SparkUnavailable("Spark's Kafka connector could not be fetched: " + "; ".join(troubles))


def newest(way: Callable[[str, Path], str], version: str, work: Path) -> str:
    """Fetch the newest connector that is published for a PySpark.

    Args:
        way: fetches a version into a directory and returns its source.

    Raises:
        SparkUnavailable: the reason for the version of PySpark itself.
    """
    first: SparkUnavailable | None = None
    for each in connector_versions(version):
        try:
            return way(each, work)
        except SparkUnavailable as error:
            first = first or error
            text = str(error)
            is_missing = f"spark-sql-kafka-0-10_{SCALA}" in text and "not f" in text
            if not is_missing or "Host" in text:  # without a network all are
                break
    assert first is not None
    raise first


def _by_maven(version: str, work: Path) -> str:
    """Copy the jars into `work`/jars by Maven's `dependency:copy-dependencies`."""
    if shutil.which("mvn") is None:
        raise SparkUnavailable("mvn is missing")
    trouble = ""
    for token_provider in dict.fromkeys((version, _OLDER_TOKEN_PROVIDER)):
        pom = work / "pom.xml"
        pom.write_text(_pom(version, token_provider))
        target = f"-DoutputDirectory={work / 'jars'}"
        done = subprocess.run(
            ["mvn", "-B", "-q", "-f", str(pom), "dependency:copy-dependencies", target],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return f"copied by Maven (token provider {token_provider})"
        trouble = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it failed")
    raise SparkUnavailable(f"mvn: {trouble[:300]}")


def _pom(version: str, token_provider: str) -> str:
    companions = COMPANIONS.get(version, COMPANIONS[max(COMPANIONS)])
    wanted = (
        ("org.apache.spark", f"spark-sql-kafka-0-10_{SCALA}", version),
        ("org.apache.spark", f"spark-token-provider-kafka-0-10_{SCALA}", token_provider),
        ("org.apache.kafka", "kafka-clients", companions.kafka_clients),
        ("org.apache.commons", "commons-pool2", companions.commons_pool2),
    )
    # Spark contains the dependencies of these four.
    everything = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
    rest = f"<exclusions>{everything}</exclusions>"
    dependencies = "\n".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{of}</version>{rest}</dependency>"
        for group, artifact, of in wanted
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>\n'
        "<groupId>ottla</groupId><artifactId>connector</artifactId><version>1</version>"
        f"<packaging>pom</packaging>\n<dependencies>\n{dependencies}\n</dependencies></project>\n"
    )


def _by_ivy(version: str, work: Path) -> str:
    """Fetch the jars into `work`/jars by Ivy, as `spark.jars.packages` does in a session."""
    companions = COMPANIONS.get(version, COMPANIONS[max(COMPANIONS)])
    connector = f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{version}"
    provider = f"org.apache.spark:spark-token-provider-kafka-0-10_{SCALA}"
    parts = (
        f"org.apache.kafka:kafka-clients:{companions.kafka_clients}",
        f"org.apache.commons:commons-pool2:{companions.commons_pool2}",
    )
    # All at once; if the token provider of this version is missing, an older one separately.
    attempts = (
        (((connector, *parts), _IN_SPARK),),
        (
            ((connector, *parts), (*_IN_SPARK, provider)),
            ((f"{provider}:{_OLDER_TOKEN_PROVIDER}",), _IN_SPARK),
        ),
    )
    trouble = ""
    for attempt in attempts:
        try:
            for packages, excludes in attempt:
                _run_ivy(packages, excludes, work)
        except SparkUnavailable as error:
            trouble = str(error)
        else:
            return "fetched by Ivy"
    raise SparkUnavailable(f"Ivy: {trouble}")


_IVY_SESSION = """
import sys
from pyspark.sql import SparkSession
ivy, packages, excludes = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.jars.ivy", ivy).config("spark.jars.packages", packages)
if excludes:
    builder = builder.config("spark.jars.excludes", excludes)
builder.getOrCreate().stop()
"""


def _run_ivy(packages: tuple[str, ...], excludes: tuple[str, ...], work: Path) -> None:
    """Start and stop a session that fetches these packages."""
    home = work / "home"
    home.mkdir(exist_ok=True)
    # An empty home: a POM without its jar in ~/.m2 would make Ivy fail with NOT FOUND.
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": f"-Duser.home={home}"}
    done = subprocess.run(
        [sys.executable, "-c", _IVY_SESSION, str(work), ",".join(packages), ",".join(excludes)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        reasons = [line.strip() for line in lines if "not found" in line or "Exception" in line]
        raise SparkUnavailable((reasons or ["it failed"])[0][:300])


def _jars_in(directory: Path) -> tuple[Path, ...]:
    """The connector's jars in a directory; Ivy puts the group before the name."""
    found = sorted(directory.glob("*.jar"))
    jars = []
    for start in _NEEDED_JARS:
        of_it = [jar for jar in found if re.match(rf"(org\..*_)?{start}", jar.name)]
        if not of_it:
            raise SparkUnavailable(f"{directory} has no {start}*.jar")
        jars.append(of_it[-1])
    return tuple(jars)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ottla"


def main() -> int:
    """Fetch the jars; print their source. Exit 0 without them: the rest of Ottla works."""
    try:
        sys.stdout.write(f"Spark's Kafka connector: {connector_jars().how}\n")
    except SparkUnavailable as error:
        sys.stdout.write(f"Spark is not available: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
