"""Simulation of streams groups: the real coordinator and their members, with faults.

One seed is one run, and each replay of it is equal. `coordinator` runs the real machine over a log
that is compacted, refuses appends and crashes; it also makes internal topics. `members` are the
clients, which are slow to give up tasks. `world` runs a seed, `invariants` check it, and
`mutations` has planted bugs that it must find. `python -m tests.simulation streams-groups SEED`
replays a run.
"""
