"""Creates a local Spark session with the Kafka connector.

`session()` finds or downloads the connector's jars and logs their source. It needs Java 17 and
takes 7 to 14 s, so one session should serve a whole test run.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .connector import ConnectorJars, SparkUnavailable, connector_jars, need_java
from .kafka_log import register

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


def session(
    app_name: str,
    *,
    master: str = "local[2]",
    settings: Mapping[str, str] | None = None,
    log_path: Path | None = None,
    with_connector: bool = True,
) -> SparkSession:
    """A session with Kafka topics, log directories (`kafka-log`) and `kafka-exactly-once`.

    `settings` override the defaults. The JVM's output goes to `log_path`, or to standard error
    without it. Raises SparkUnavailable if Java or the connector's jars are missing.
    """
    need_java()
    if master.startswith("local"):
        # Else Spark starts the first python3 of the PATH for its tasks, which may lack packages.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    jars = connector_jars() if with_connector else ConnectorJars((), "not used")
    _log.info("Spark's Kafka connector: %s", jars.how)
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder().appName(app_name).master(master)
    warehouse = Path(tempfile.gettempdir()) / f"ottla-warehouse-{os.getuid()}"
    chosen = {
        **_SETTINGS,
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.jars": ",".join(str(path) for path in jars.paths),
        **(settings or {}),
    }
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with _stderr_to(log_path):
        made = builder.getOrCreate()
    try:
        register(made)
    except SparkUnavailable as missing:
        _log.info("%s", missing)
    from .exactly_once.data_source import register as register_sink

    register_sink(made)
    return made


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
