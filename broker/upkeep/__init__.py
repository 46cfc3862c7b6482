"""Work by the clock, beside the requests: retention, compaction, snapshots, removals."""
