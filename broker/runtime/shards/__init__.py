"""Coordinators at work: a shard runs one state machine over the partition that stores its records.

May enter: what every coordinator needs, whatever it coordinates. Begin with `shard.py`; then
`coordinators.py`, which has the shards of a node.
"""
