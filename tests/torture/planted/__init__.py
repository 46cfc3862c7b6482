"""Applications that copy a topic, each with one bug: `python -m tests.torture.planted.NAME`.

They are for `ottla torture`, which must find the bug. What all have is in copying.py, and is right.
"""
