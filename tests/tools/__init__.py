"""Kafka's command line tools print the same for Ottla and for Apache Kafka."""
