"""A Spark session on this machine with the Kafka connector in it.

`session()` finds or fetches the connector's jars and says which it took; it needs Java 17 and takes
7 to 14 s, so one session serves a whole test run.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .connector import connector_jars, need_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The machine's name need not resolve to an address of this machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # 200 by default: on two cores a task for nothing costs more than the work.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}


def session(
    app_name: str,
    *,
    master: str = "local[2]",
    settings: Mapping[str, str] | None = None,
    log_path: Path | None = None,
) -> SparkSession:
    """A session that reads and writes Kafka topics. `settings` win over the ones made here.

    What the JVM writes goes to `log_path` when it is given, else to standard error. Raises
    SparkUnavailable when Java or the connector's jars cannot be had.
    """
    need_java()
    jars = connector_jars()
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
        return builder.getOrCreate()


@contextmanager
def _stderr_to(path: Path | None) -> Iterator[None]:
    """Processes started meanwhile write their standard error to the file, as long as they live."""
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
