"""Which tests a run has, which it may skip, and in which order they run.

`make test` leaves out what is slow by nature (`make test-slow`), what needs a session of Spark
(`make test-spark`) and what needs an Apache Kafka (`make test-kafka`)
or a browser (`make test-page`). A run whose command names files has all of their tests.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

# Marker -> the words in `-m EXPRESSION` that say the run has such tests. All slow tests that need
# an Apache Kafka belong to `-m kafka`; what is slow or needs a Kafka may use Spark, too.
ASKED_BY = {
    "kafka": ("kafka",),
    "slow": ("slow", "kafka"),
    "spark": ("spark", "slow", "kafka"),
    "page": ("page",),
}

# A fixture of these has a session of Spark, which is a JVM of 1 GB.
SPARK_FIXTURES = {"spark", "spark_kafka", "ottla_spark_session"}

# Each reason for a skip, as a pattern, and why the test cannot run everywhere. Another skip fails.
SKIPS = {
    r"needs /dev/full": "only Linux has this device",
    r"needs curl": "the program is not part of Python",
    r"no compose file": "a page of the image, tested where the compose file is",
    r"\S+ is not installed": "recipes are for Go, Node and Java, too",
    r"this file system sets no room aside": "fallocate is a matter of the file system",
    r"nothing may be mounted here": "a full disk is a mounted one, which needs root",
    r"PySpark 4\.0 has no filter pushdown": "the pushdown of filters began with PySpark 4.1",
    r"could not import 'pyspark\.sql\.": "an older PySpark has fewer modules",
    r"Spark.*|.*[Jj]ava.*": "Spark needs Java (OTTLA_NEED_SPARK=1: then it fails)",
    r"takes minutes": "make sink-campaign has it",
    r".*-m kafka.*": "a named file has tests that need an Apache Kafka",
    r"the markers were written before the request each time": "chance decides on a real Kafka",
}


def left_out(config: pytest.Config) -> set[str]:
    """Return the markers whose tests this run does not have."""
    if config.getoption("--bootstrap") or _names_files(config):
        return set()
    expression = str(config.getoption("-m"))
    return {
        marker
        for marker, words in ASKED_BY.items()
        if not any(word in expression for word in words)
    }


def _names_files(config: pytest.Config) -> bool:
    given: list[str] = config.getoption("file_or_dir") or []
    return any("::" in each or not Path(each).is_dir() for each in given)


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests with a marker of `left_out`."""
    markers = left_out(config)
    kept = [item for item in items if not any(item.get_closest_marker(each) for each in markers)]
    if len(kept) < len(items):
        chosen = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = kept


def mark_spark(items: list[pytest.Item]) -> None:
    """Give the marker `spark` to each test that has a session by a fixture."""
    for item in items:
        if not SPARK_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("spark")


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Shuffle the files, and the tests of each. A file stays together: it shares fixtures.

    The examples of a document stay in order, because a reader follows them from top to bottom."""
    chance = random.Random(seed)
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    files = list(by_file.values())
    chance.shuffle(files)
    for tests in files:
        if tests[0].path.name != "test_examples.py":
            chance.shuffle(tests)
    items[:] = [item for tests in files for item in tests]


def is_listed(reason: str) -> bool:
    """Whether a skip has a reason of `SKIPS`.

    Args:
        reason: the text of the skip, as "Skipped: needs curl".
    """
    text = reason.removeprefix("Skipped: ")
    return any(re.match(pattern, text) for pattern in SKIPS)
