"""One Spark session for all tests, because it takes 7 to 14 s to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ottla.spark.connector import SparkUnavailable
from ottla.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session; without Spark the tests are skipped, or fail with OTTLA_NEED_SPARK."""
    try:
        made = session("ottla-tests", log_path=tmp_path_factory.mktemp("spark") / "spark.log")
    except SparkUnavailable as missing:
        if os.environ.get("OTTLA_NEED_SPARK"):
            raise
        pytest.skip(str(missing))
    yield made
    made.stop()
