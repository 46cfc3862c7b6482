"""Kafka's command line tools on Ottla and on an Apache Kafka: they print the same."""
