"""Timed jobs of a broker: retention, checkpoints, flushes, compaction, snapshots, file removals."""
