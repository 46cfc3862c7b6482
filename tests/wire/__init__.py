"""Raw requests over a socket, and the answers of Apache Kafka 4.4.0 (kafka-4.4.0.json)."""
