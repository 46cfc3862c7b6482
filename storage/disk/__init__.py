"""Files under the log: file operations, checkpoints, names in a data directory, damage.

May enter: what knows bytes and names of files, and nothing of batches or logs. Every file operation
of the storage goes through `files.py`; begin there.
"""
