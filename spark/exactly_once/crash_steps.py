"""The steps of the sink that a crash can fall between, and a switch for tests that stop at one.

The option `stepsDirectory` names a directory. A step looks for a file with its name there, removes
it and kills the process whose id the file contains ("self": its own). So a file works once, also
across restarts. Without the option, a step costs one comparison.
"""

from __future__ import annotations

import os
import signal
from enum import StrEnum
from pathlib import Path


class CrashStep(StrEnum):
    """A step that is complete; the name of its file in `stepsDirectory`."""

    TASK_STARTED = "task-started"
    TRANSACTION_BEGUN = "transaction-begun"
    ROWS_SENT = "rows-sent"
    ROWS_ACKNOWLEDGED = "rows-acknowledged"
    COMMIT_CALLED = "commit-called"
    LOG_READ = "log-read"
    FATES_KNOWN = "fates-known"
    DECISION_SENT = "decision-sent"
    DECISION_WRITTEN = "decision-written"
    TASK_COMMITTED = "task-committed"
    ALL_COMMITTED = "all-committed"
    DONE_WRITTEN = "done-written"
    OTHERS_FENCED = "others-fenced"


STEPS_OF_TASKS = (
    CrashStep.TASK_STARTED,
    CrashStep.TRANSACTION_BEGUN,
    CrashStep.ROWS_SENT,
    CrashStep.ROWS_ACKNOWLEDGED,
)
STEPS_OF_THE_DRIVER = tuple(step for step in CrashStep if step not in STEPS_OF_TASKS)


def reached(step: CrashStep, directory: str | None) -> None:
    """Note that a step is complete: kill the process that a file of its name contains."""
    if directory is None:
        return
    file = Path(directory) / step.value
    try:
        content = file.read_text().strip()
        file.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid() if content == "self" else int(content), signal.SIGKILL)
