"""The exactly-once Kafka sink of PySpark: `format("kafka-exactly-once")` (docs/SPARK_SINK.md)."""
