"""The logs of topics in a running broker: creation, syncs, work that waits for the disk.

May enter: what calls the storage outside of a request. Begin with `topic_logs.py`.
"""
