"""Ottla and an Apache Kafka give the same answers to the same requests."""
