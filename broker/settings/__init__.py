"""Kafka's settings: tables, rules, listeners, properties."""
