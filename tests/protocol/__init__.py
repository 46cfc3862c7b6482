"""Tests of the protocol room; `golden/` holds bytes of real clients and of Apache Kafka 4.1.1."""
