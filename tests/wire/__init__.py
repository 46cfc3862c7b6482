"""Raw requests over a socket, and what Apache Kafka 4.1.1 answered to them (kafka-4.1.1.json)."""
