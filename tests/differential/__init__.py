"""The same requests to Ottla and to an Apache Kafka: the answers are the same."""
