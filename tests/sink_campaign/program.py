"""The program of a query: `python -m tests.sink_campaign.program MASTER LOG`.

It prints "ready PID", with the process id of its JVM. For each line of standard input, a `Copy` in
JSON, it runs the query to the end of its source, again after each failure, and prints "failed TEXT"
for each failure and "done".
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Final

import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException

from ottla.spark.session import session

from ..spark.exactly_once.copying import Copy, StoppedQuery

_RAISED: Final = re.compile(r"\w(Exception|Error|Failed|Driver|Answer|NotWritten)\b:")


def main(master: str, log: str) -> None:
    """Run the queries of standard input."""
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)  # executors start from there
    spark = session("sink-campaign", master=master, log_path=Path(log), settings={
        "spark.executor.memory": "512m",
        # Else it refuses a checkpoint whose first file the killed driver has not completed.
        "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
        # Spark's default gives up after ten executors that died without a task.
        "spark.deploy.maxExecutorRetries": "-1",
    })  # fmt: skip
    jvm = spark._jvm
    assert jvm is not None
    spark.range(2).repartition(2).count()  # compiles, and starts the executors
    tell(f"ready {jvm.java.lang.ProcessHandle.current().pid()}")
    for line in sys.stdin:
        copy = Copy(**json.loads(line))
        while True:
            try:
                copy.run(spark)
            except StoppedQuery as stopped:
                tell(f"failed {stopped}")
            except (PySparkException, Py4JJavaError) as failed:
                tell(f"failed {_reason(str(failed))[:300]}")
            else:
                break
        tell("done")


def _reason(text: str) -> str:
    """The line of an exception's text that says most."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    plan = next((at for at, each in enumerate(lines) if each.startswith("=== ")), len(lines))
    reasons = [each for each in lines[:plan] if _RAISED.search(each)]
    return (reasons or lines[:1])[-1]


def tell(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
