"""The session of a thread: Spark looks there for formats that are written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def use_in_this_thread(spark: SparkSession) -> None:
    """Make a session the active one of the thread that calls, as it is in the thread that made it.

    Other threads have none, pyspark.InheritableThread included: it takes properties along, and not
    the session. Spark then says DATA_SOURCE_NOT_FOUND.
    """
    jvm = getattr(spark, "_jvm", None)
    if jvm is not None:  # else it is a session of Spark Connect, whose server looks for formats
        jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)
