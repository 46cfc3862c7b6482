"""The data directory: segments, indexes, producer state, recovery, the metadata log.

A partition's log (`log.py`) is a list of segments (`segment.py`), each a file of batches with its
indexes. Every file operation goes through `files.py`, so that a test can stop, fail or tear each of
them. Formats are Kafka's: a Kafka 4.1 opens the directory, and Ottla opens Kafka's.

May enter: files and their repair. Not: sockets, requests, the time except as an argument.
Begin with `log.py`; then `recovery.py` for what a crash leaves.
"""
