"""What releases of Apache Kafka answered (kafka-*.json), and what a broker with `--as` answers."""
