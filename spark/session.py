"""Creates a local Spark session with the Kafka connector.

`session()` finds or downloads the connector's jars and logs their source. It needs Java 17 and
takes 7 to 14 s, so one session should serve a whole test run.
"""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from .connector import ConnectorJars, SparkUnavailable, connector_jars, need_java, without
from .threads import use_in_this_thread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The machine's name may not resolve to an address of this machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # The default is 200: on two cores an empty task costs more than the work.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}

_with_formats: Final[WeakSet[SparkSession]] = WeakSet()
ADDED: Final = frozenset({
    "spark.jars", "spark.jars.packages", "spark.jars.repositories", "spark.jars.excludes",
    "spark.sql.extensions",
})  # fmt: skip
"""Settings that are lists: what is given is added to what is there."""


def session(
    app_name: str,
    *,
    master: str = "local[2]",
    settings: Mapping[str, str] | None = None,
    log_path: Path | None = None,
    with_connector: bool = True,
) -> SparkSession:
    """A session with Kafka topics, log directories (`kafka-log`) and `kafka-exactly-once`.

    If this process has a session already, it is that one, as it is: Spark has one for a process,
    and most of its settings are fixed when it starts.

    Args:
        settings: go before the defaults; those in `ADDED` are added to what the connector needs.
        log_path: gets the JVM's output, which else goes to standard error.

    Raises:
        SparkUnavailable: Java, a library or the connector's jars are missing; or the session that
            runs has no connector, or other settings than the given ones.
    """
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as missing:
        raise SparkUnavailable(without(missing)) from None
    made = running_session()
    if made is not None:
        check_session(made, settings or {}, with_connector=with_connector)
        register_formats(made)
        return made
    need_java()
    if master.startswith("local"):
        # Else Spark starts the first python3 of the PATH for its tasks, which may lack packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    jars = connector_jars() if with_connector else ConnectorJars((), "not used")
    _log.info("Spark's Kafka connector: %s", jars.how)
    builder = SparkSession.Builder().appName(app_name).master(master)
    wanted = {"spark.sql.warehouse.dir": str(choose_warehouse()), **(settings or {})}
    for name, value in chosen_settings(jars, wanted).items():
        builder = builder.config(name, value)
    with _stderr_to(log_path):
        made = builder.getOrCreate()
    register_formats(made)
    return made


def choose_warehouse() -> Path:
    """A directory for the tables of this process alone, removed at its end.

    Spark makes it with the first table. Its tables are known to the session that made them, so
    those of an earlier session would only be in the way of a table with the same name.
    """
    warehouse = Path(tempfile.gettempdir()) / f"ottla-warehouse-{secrets.token_hex(8)}"
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not a fork of it
            shutil.rmtree(warehouse, ignore_errors=True)

    atexit.register(remove)
    return warehouse


def chosen_settings(jars: ConnectorJars, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of a new session: Ottla's, then the given ones; lists of `ADDED` are joined."""
    chosen = {
        **_SETTINGS,
        "spark.jars": ",".join(str(path) for path in jars.paths),
    }
    for name, value in settings.items():
        before = chosen.get(name, "")
        chosen[name] = f"{before},{value}" if name in ADDED and before and value else value
    return chosen


def running_session() -> SparkSession | None:
    """The Spark session of this process; None if none runs."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        return None
    active = SparkSession.getActiveSession()
    return SparkSession.Builder().getOrCreate() if active is None else active


def check_session(
    made: SparkSession, settings: Mapping[str, str], *, with_connector: bool = True
) -> None:
    """Raise SparkUnavailable if a session lacks the connector, or one of some settings."""
    runs = f"the Spark session that runs already ({made.sparkContext.appName})"
    for name, value in settings.items():
        found = made.conf.get(name, None)
        is_there = found == value
        if name in ADDED:
            is_there = set(value.split(",")) <= set((found or "").split(","))
        if not is_there:
            raise SparkUnavailable(
                f"{runs} has {name}={found or 'no value'}, and {value} is wanted: set it there, or"
                " stop that session before"
            )
    if not with_connector:
        return
    from pyspark.errors import PySparkException

    try:  # nothing connects before the rows are read
        reader = made.read.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:9")
        reader.option("subscribe", "any").load()
    except PySparkException:
        raise SparkUnavailable(
            f"{runs} has no Kafka connector: give it the jars when it is made,"
            " .config('spark.jars', ottla.spark.connector.jars())"
        ) from None


def register_formats(spark: SparkSession) -> None:
    """Make `kafka-log` and `kafka-exactly-once` known to a session and this thread.

    A format whose libraries are missing is left out.
    """
    use_in_this_thread(spark)
    if spark in _with_formats:
        return
    _with_formats.add(spark)
    context = spark.sparkContext
    if foreign := foreign_python(context.master or "", context.pythonExec):
        warnings.warn(foreign, stacklevel=3)
    for module in ("kafka_log", "exactly_once.data_source"):
        try:
            import_module(f".{module}", __package__).register(spark)
        except SparkUnavailable as missing:
            _log.warning("%s", missing)
        except ModuleNotFoundError as missing:
            _log.warning("%s", without(missing, module.partition(".")[0]))


def foreign_python(master: str, python: str) -> str:
    """Why the tasks of a local session cannot run Ottla's formats; empty if they can.

    Args:
        python: the program that runs the tasks: PYSPARK_PYTHON when the session was made, else the
            first `python3` of the path.
    """
    found = shutil.which(python) or python
    if not master.startswith("local") or Path(found).parent == Path(sys.executable).parent:
        return ""
    try:
        subprocess.run([found, "-c", "import ottla"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return (
            f"Spark's tasks run {found}, which has no ottla: kafka-log and kafka-exactly-once need"
            " os.environ['PYSPARK_PYTHON'] = sys.executable before the session is made"
        )
    return ""


@contextmanager
def _stderr_to(path: Path | None) -> Iterator[None]:
    """Send standard error of processes started meanwhile to the file, until they end."""
    if path is None:
        yield
        return
    kept = os.dup(2)
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(target)
        os.close(kept)
