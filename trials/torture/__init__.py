"""Torture of applications: schedules of faults, runs, verdicts, and the fewest steps that fail."""
