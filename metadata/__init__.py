"""The state of a cluster, replayed from the records of its metadata log. Pure.

`catalog.py` decides: it returns records, and changes only when `replay` gets them back. Topics,
settings, ACLs, quotas, SCRAM credentials and delegation tokens each have a module; `fencing.py`,
`elections.py` and `reassignments.py` say who leads a partition and who is in sync.

May enter: what a KRaft record says. Not: offsets, groups, sockets, the time except as an argument.
Begin with `catalog.py`.
"""
