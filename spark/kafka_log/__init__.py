"""The data source `kafka-log`: log directories of Ottla or Apache Kafka as DataFrames.

`register(spark)` makes `spark.read.format("kafka-log")` and `spark.readStream` of it known to a
session; `ottla.spark.session` does it. docs/reference/spark-log.md lists the options and the
columns. Only the driver and the executors of such a query import pyarrow and numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..threads import use_in_this_thread
from .progress import lag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FORMAT", "lag", "register"]

FORMAT: Final = "kafka-log"
"""The name of the data source."""


def register(spark: SparkSession) -> None:
    """Make the data source known to a session; a second call changes nothing.

    Raises:
        SparkUnavailable: pyarrow or numpy is missing.
    """
    from ..connector import SparkUnavailable, without

    try:
        from .source import KafkaLog
    except ModuleNotFoundError as missing:
        raise SparkUnavailable(without(missing, FORMAT)) from None
    spark.dataSource.register(KafkaLog)
    use_in_this_thread(spark)
