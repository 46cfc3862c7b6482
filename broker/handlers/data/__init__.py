"""Handlers of records: Produce, Fetch, and offsets in logs."""
