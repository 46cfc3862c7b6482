"""PySpark's sink `format("kafka-exactly-once")` (docs/reference/spark-sink.md)."""
