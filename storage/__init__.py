"""The data directory's files: segments, indexes, producer state, recovery, the metadata log."""
