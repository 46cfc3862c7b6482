"""Fetch sessions (KIP-227), and fetches that wait for records.

Begin with `fetch_waits.py`.
"""
