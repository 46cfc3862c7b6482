"""Bytes to messages and back, and nothing else: no state, no clock, no file, no room of ours.

A message travels as a frame (`frames.py`), is decoded by its schema (`messages.py`, `codec.py`),
and holds record batches that stay bytes (`batch.py`); `errors.py` has Kafka's codes and `Refused`,
which becomes one of them. What Produce and Fetch need at each record is written out by hand
(`produce_answer.py`, `fetch_answer.py`, `records.py`). `schemas/` are Kafka's own.

Begin with `messages.py`, then `batch.py`.
"""
