"""`ottla audit` and `spark-submit`: options, session, audit, output, exit status.

`spark-submit .../spark/audit/main.py --data-dir DIR` runs it on a cluster; `python -m
ottla.spark.audit.main` does the same. Exit status: 0 no findings, 1 findings, 2 it could not run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .run import Copy, Logs, Report

LOCAL: Final = "local[*]"
CLEAN: Final = 0
FINDINGS: Final = 1
CANNOT_RUN: Final = 2


class AuditFailed(Exception):
    """The audit could not run; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the report goes, besides the terminal; empty: nowhere.

    Attributes:
        json: a file, or - for standard output, which then has no table.
        parquet: a directory of all findings, transactions and partitions.
        html: a file.
    """

    json: str = ""
    parquet: str = ""
    html: str = ""


def of_directory(directory: str) -> Logs:
    """The logs of a data directory, a path or a URI. Raises AuditFailed."""
    from .rows import NoLogs, metadata_of, parts_in
    from .run import Logs

    path = directory if "://" in directory else os.path.abspath(directory)
    try:
        return Logs(path, parts_in(path), metadata_of(path))
    except (NoLogs, OSError) as wrong:
        raise AuditFailed(str(wrong)) from None


def start_session(master: str) -> SparkSession:
    """A session for the audit; that of spark-submit, if it runs. Raises AuditFailed."""
    from ..connector import SparkUnavailable, need_java

    try:
        if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has chosen master and settings
            from pyspark.sql import SparkSession

            return SparkSession.Builder().appName("ottla audit").getOrCreate()
        need_java()
        from ..session import session

        cores = str(os.cpu_count() or 2)
        return session(
            "ottla audit",
            master=master,
            settings={"spark.sql.shuffle.partitions": cores, "spark.log.level": "ERROR"},
            log_path=Path(os.devnull),
            with_connector=False,
        )
    except SparkUnavailable as missing:
        raise AuditFailed(str(missing)) from None


def copy_of(
    input_topic: str,
    output_topic: str,
    key: str,
    output_key: str,
    group: str,
    *,
    checkpoint: str = "",
) -> Copy | None:
    """The options of a comparison of keys; None without topics. Raises AuditFailed.

    Args:
        checkpoint: of a streaming query, whose committed batches are the end of the input.
    """
    if checkpoint and group:
        raise AuditFailed("the input ends by --group or --checkpoint, not by both")
    if checkpoint and not input_topic:
        raise AuditFailed(
            "--checkpoint is the end of a comparison: it needs --input TOPIC and --output TOPIC"
        )
    if not input_topic or not output_topic:
        return None
    try:
        from .run import Copy
    except ModuleNotFoundError as missing:
        raise _without(missing) from None
    consumed = _consumed(checkpoint, input_topic) if checkpoint else None
    return Copy(input_topic, output_topic, key, output_key, group, consumed)


def _consumed(checkpoint: str, topic: str) -> Mapping[int, int]:
    from ..checkpoint import NoProgress, progress_of

    try:
        progress = progress_of(checkpoint)
    except NoProgress as wrong:
        raise AuditFailed(str(wrong)) from None
    if progress and topic not in progress:
        read = ", ".join(sorted(progress))
        raise AuditFailed(f"{checkpoint}: the query does not read topic {topic}, but {read}")
    return progress.get(topic, {})


def _without(missing: ModuleNotFoundError) -> AuditFailed:
    from ..connector import without

    return AuditFailed(without(missing, "it"))


def audit(
    logs: Callable[[], Logs],
    *,
    copy: Copy | None = None,
    master: str = LOCAL,
    outputs: Outputs = Outputs(),
    check_crc: bool = True,
    start: Callable[[str], SparkSession] = start_session,
) -> int:
    """Run the audit and write its outputs; return the exit status.

    Args:
        logs: finds the logs; called before Spark starts.
        master: Spark's master; that of spark-submit goes before.
        start: starts the session, which is stopped at the end.

    Raises:
        AuditFailed: there is no Spark, or the logs cannot be read.
    """
    try:
        found = logs()
        spark = start(master)
        try:
            report = _run(spark, found, copy, outputs.parquet, check_crc=check_crc)
        finally:
            spark.stop()
    except AuditFailed:
        raise
    except ModuleNotFoundError as missing:
        raise _without(missing) from None
    except Exception as wrong:  # a traceback has exit status 1, which means findings
        raise AuditFailed(f"{type(wrong).__name__}: {wrong}".splitlines()[0]) from wrong
    _write(report, outputs)
    return CLEAN if report.is_clean else FINDINGS


def _run(
    spark: SparkSession, logs: Logs, copy: Copy | None, parquet: str, *, check_crc: bool
) -> Report:
    from pyspark.errors import PySparkException

    from .rows import NoLogs
    from .run import run

    try:
        return run(spark, logs, copy=copy, parquet=parquet, check_crc=check_crc)
    except NoLogs as wrong:
        raise AuditFailed(str(wrong)) from None
    except PySparkException as wrong:
        lines = [line for line in str(wrong).splitlines() if line.strip()]
        raise AuditFailed(f"Spark: {lines[0] if lines else type(wrong).__name__}") from wrong


def _write(report: Report, outputs: Outputs) -> None:
    from . import report as audit_report

    if outputs.json == "-":
        sys.stdout.write(audit_report.as_json(report))
    else:
        from rich.console import Console

        audit_report.show(report, Console(soft_wrap=not sys.stdout.isatty()))
    try:
        if outputs.json not in ("", "-"):
            Path(outputs.json).write_text(audit_report.as_json(report))
        if outputs.html:
            Path(outputs.html).write_text(audit_report.as_html(report))
    except OSError as wrong:
        raise AuditFailed(f"{wrong.filename}: {wrong.strerror}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """The program for spark-submit."""
    parser = argparse.ArgumentParser(prog="ottla audit", description="Audit a data directory.")
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--input", default="")
    parser.add_argument("--output", default="")
    parser.add_argument("--key-expr", default="cast(key as string)")
    parser.add_argument("--output-key-expr", default="")
    parser.add_argument("--group", default="")
    parser.add_argument("--checkpoint", default="")
    parser.add_argument("--json", default="")
    parser.add_argument("--parquet", default="")
    parser.add_argument("--html", default="")
    parser.add_argument("--no-crc", action="store_true")
    given = parser.parse_args(arguments)
    words = sys.argv[1:] if arguments is None else arguments
    flags = Counter(each.partition("=")[0] for each in words if each.startswith("--"))
    for flag, times in flags.items():  # argparse takes the last value in silence
        if times > 1:
            parser.error(f"{flag} is given twice, and takes one value")
    try:
        return audit(
            lambda: of_directory(given.data_dir),
            copy=copy_of(
                given.input,
                given.output,
                given.key_expr,
                given.output_key_expr,
                given.group,
                checkpoint=given.checkpoint,
            ),
            outputs=Outputs(given.json, given.parquet, given.html),
            check_crc=not given.no_crc,
        )
    except AuditFailed as wrong:
        sys.stderr.write(f"ottla audit: {wrong}\n")
        return CANNOT_RUN


if __name__ == "__main__":
    # spark-submit starts the file alone, outside of its package.
    sys.exit(import_module("ottla.spark.audit.main").main())
