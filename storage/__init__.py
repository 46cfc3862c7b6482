"""The data directory: segments, indexes, producer state, recovery, the metadata log.

A partition's log (`log.py`) is a list of segments (`segments/`), each a file of batches with its
indexes. Every file operation goes through `disk/files.py`, so that a test can stop, fail or tear
each of them. Formats are Kafka's: a Kafka 4.1 opens the directory, and Ottla opens Kafka's.

From bottom to top: `disk/`, `records/`, `segments/`, `producer_state/`, `recovery/`, then the log
and its directory (`log_directory.py`), and above them `cleaning/`, `kraft/` and `inspection/`.

May enter: files and their repair. Not: sockets, requests, the time except as an argument.
Begin with `log.py`; then `recovery/recovery.py` for what a crash leaves.
"""
