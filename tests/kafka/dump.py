"""Kafka's reader of log files, `kafka-dump-log`: its output and the faults that it reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from .installation import tool

TIMEOUT_S = 120.0
CONSUMER_OFFSETS = "__consumer_offsets-"
TRANSACTION_STATE = "__transaction_state-"
CLUSTER_METADATA = "__cluster_metadata-"
INDEXES = (".index", ".timeindex", ".txnindex")

_WRONG = re.compile(
    r"mismatch|out of order|invalid|isvalid: false|non-consecutive|corrupt|could not|cannot"
    r"|unknown|exception|error|fail|warn|larger than|^Found",
    re.IGNORECASE | re.MULTILINE,
)
# The tool of 4.4 takes the first offset of a later segment, or one behind batches without records,
# for one behind a gap.
_FIRST_OFFSET = re.compile(r"Non-consecutive offsets in .*\n  -1 is followed by \d+(?:\n(?!  )|\Z)")
# Words of faults that records may also contain.
_HARMLESS = re.compile(r"lastTimestampMs|LOG_APPEND_TIME|isvalid: true|payload: \{.*\}")


def dumped(files: Iterable[Path], *options: str) -> str:
    """The tool's output for some files, in order. Raises AssertionError."""
    names = ",".join(str(file) for file in files)
    if not names:
        return ""
    done = tool("DumpLogSegments", *options, "--files", names, timeout_s=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def complaints(output: str) -> list[str]:
    """The lines in which the tool reports a fault."""
    lines = _FIRST_OFFSET.sub("", output).splitlines()
    return [line for line in lines if _WRONG.search(_HARMLESS.sub("", line))]


def files_in(data: Path, suffixes: Sequence[str], prefix: str = "") -> list[Path]:
    """All files with these suffixes in partitions with this prefix."""
    return sorted(file for file in data.glob(f"{prefix}*/*") if file.suffix in suffixes)


def user_logs(data: Path) -> list[Path]:
    """Data files of topics that are not internal."""
    return [file for file in files_in(data, [".log"]) if not file.parent.name.startswith("__")]


def dumps_of_all(data: Path) -> dict[str, str]:
    """Dump every file of a directory with every decoder for it."""
    deep = ("--deep-iteration",)
    metadata = [
        *files_in(data, [".log", ".checkpoint"], CLUSTER_METADATA),
        *_checkpoints(data),
    ]
    indexes = files_in(data, INDEXES)
    return {
        "records": dumped(user_logs(data), *deep),
        "offsets": dumped(files_in(data, [".log"], CONSUMER_OFFSETS), *deep, "--offsets-decoder"),
        "transactions": dumped(
            files_in(data, [".log"], TRANSACTION_STATE), *deep, "--transaction-log-decoder"
        ),
        "metadata": dumped(metadata, *deep, "--cluster-metadata-decoder"),
        "snapshots": dumped(files_in(data, [".snapshot"])),
        "indexes": dumped(indexes),
        "sanity": dumped(indexes, "--index-sanity-check"),
        "verified": dumped(indexes, "--verify-index-only"),
    }


def _checkpoints(data: Path) -> list[Path]:
    return [file for file in [data / "bootstrap.checkpoint"] if file.exists()]
