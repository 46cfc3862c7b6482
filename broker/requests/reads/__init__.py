"""Reads of partitions for Fetch: limits, isolation, sessions, bytes to wait for.

Begin with `fetch_reads.py`.
"""
