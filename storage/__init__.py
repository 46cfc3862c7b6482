"""What is on disk: segments, indexes, producer state, recovery, the metadata log."""
