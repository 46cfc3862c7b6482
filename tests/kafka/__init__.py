"""Apache Kafka for tests and benchmarks: its jars, a node, its command line tools."""
