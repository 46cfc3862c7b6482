"""The audit: planted faults in log directories, and clean logs."""
