"""The state machines at work: their logs, their coordinators, their markers and waits."""
