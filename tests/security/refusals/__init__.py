"""Refusals of secured listeners, beside Apache Kafka's: `python -m tests.security.refusals`."""
