"""Runs the state machines, in a folder for each subject.

`controller/` and `shards/` are the state machines that write records; `logs/` has the logs that
they write to. `markers/`, `share/`, `fetching/`, `groups/` and `quotas/` are above them. Beside
them are `authorizer.py`, and the limits of work and memory that all share.

May enter: state that outlives a request. Not: requests and sockets. Begin with `shards/shard.py`.
"""
