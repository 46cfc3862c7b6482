"""The part of the pytest plugin for Spark: a session, its log, and faults that did not happen.

`spark_kafka` is a Spark session with the Kafka connector for the broker of `ottla`. The session is
that of the fixture `ottla_spark_session`, which a project may override by its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

# Every pytest run of every project loads this plugin, so it imports the rest when it is needed.
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from pyspark.sql import SparkSession

    from ..spark.spark_kafka import SparkKafka
    from .broker import Ottla

_SPARK_LOG: Final[pytest.StashKey[Path]] = pytest.StashKey()
_LOG_SIZE: Final[pytest.StashKey[int]] = pytest.StashKey()
_LINES_SHOWN: Final = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting of the ini file."""
    parser.addini(
        "ottla_spark_settings", "settings of Spark for spark_kafka, one NAME=VALUE a line",
        "linelist",
    )  # fmt: skip


@pytest.fixture(scope="session")
def ottla_spark_settings(pytestconfig: pytest.Config) -> Mapping[str, str]:
    """Spark's settings for `ottla_spark_session`; override the fixture to change them."""
    from .pytest_plugin import read_settings

    return read_settings("ottla_spark_settings", pytestconfig.getini("ottla_spark_settings"))


@pytest.fixture(scope="session")
def ottla_spark_session(
    pytestconfig: pytest.Config,
    ottla_spark_settings: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[SparkSession]:
    """The Spark session of `spark_kafka`: the one that runs, else a new one that ends with the run.

    Override the fixture to return a session of your own, which has the Kafka connector.
    """
    from ..spark.connector import SparkUnavailable, without
    from ..spark.session import running_session, session

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    try:
        is_own = running_session() is None
        made = session("ottla-tests", settings=ottla_spark_settings, log_path=log)
    except (SparkUnavailable, ModuleNotFoundError) as missing:
        why = without(missing) if isinstance(missing, ModuleNotFoundError) else missing
        raise pytest.fail.Exception(f"spark_kafka: {why}", pytrace=False) from None
    if is_own:
        pytestconfig.stash[_SPARK_LOG] = log
    try:
        yield made
    finally:
        if is_own:
            made.stop()


@pytest.fixture(scope="session")
def spark_kafka(ottla: Ottla, ottla_spark_session: SparkSession) -> SparkKafka:
    """A Spark session with the Kafka connector, and functions that read and write `ottla`."""
    from ..spark.connector import SparkUnavailable
    from ..spark.session import check_session, register_formats
    from ..spark.spark_kafka import SparkKafka

    try:
        check_session(ottla_spark_session, {})
    except SparkUnavailable as missing:
        raise pytest.fail.Exception(f"spark_kafka: {missing}", pytrace=False) from None
    register_formats(ottla_spark_session)
    return SparkKafka(ottla_spark_session, ottla.bootstrap_servers, ottla.client_settings("spark"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note how long Spark's log is."""
    item.stash[_LOG_SIZE] = _size(item.config.stash.get(_SPARK_LOG, None))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that ordered a kill by `kill_in_batch`, and has passed without one."""
    try:
        outcome = yield
    except BaseException:
        _missed()
        raise
    if missed := _missed():
        pytest.fail(missed, pytrace=False)
    return outcome


def _missed() -> str:
    """What the orders of the test have not done, which are forgotten; empty for nothing."""
    testing = sys.modules.get("ottla.spark.testing")
    try:
        if testing is not None:
            testing.assert_killed()
    except AssertionError as missed:
        return str(missed)
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the last lines of Spark's log to the report of a failing test, and its path."""
    report = yield
    path = item.config.stash.get(_SPARK_LOG, None)
    if report.failed and path is not None:
        lines = _since(path, item.stash.get(_LOG_SIZE, 0))
        if lines:
            report.sections.append((f"Spark's log ({path})", "".join(lines[-_LINES_SHOWN:])))
        item.stash[_LOG_SIZE] = _size(path)
    return report


def _size(path: Path | None) -> int:
    try:
        return 0 if path is None else path.stat().st_size
    except OSError:
        return 0


def _since(path: Path, position: int) -> list[str]:
    """The lines behind a position, without the frames of stack traces."""
    try:
        with path.open(errors="replace") as log:
            log.seek(position)
            return [line for line in log if not line.startswith("\tat ")]
    except OSError:
        return []
