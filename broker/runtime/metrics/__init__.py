"""Counters of requests, topics and transactions, for `ottla serve --metrics` and the lab."""
