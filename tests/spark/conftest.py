"""One Spark session for all tests, because it takes 7 to 14 s to start."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from ottla.spark.connector import SparkUnavailable, connector_jars, need_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ottla.spark.spark_kafka import SparkKafka


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> SparkSession:
    """The session of `spark_kafka`; without Spark skip the test, or fail with OTTLA_NEED_SPARK."""
    try:
        need_java()
        connector_jars()
    except SparkUnavailable as missing:
        if os.environ.get("OTTLA_NEED_SPARK"):
            raise
        pytest.skip(str(missing))
    made: SparkKafka = request.getfixturevalue("spark_kafka")
    return made.session
