"""Timed and background jobs: retention, flushes, compaction, snapshots, removals."""
