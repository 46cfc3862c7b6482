"""Share groups on the leaders of partitions: acquired records, sessions, state, dead letters.

Begin with `share_partitions.py`; decisions are those of `coordinator/share_partition/`.
"""
