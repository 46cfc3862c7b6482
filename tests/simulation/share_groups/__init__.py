"""Simulation of share groups: the real coordinator and their members, with faults.

One seed is one run, and each replay of it is equal. `coordinator` runs the real machine over a log
that is compacted, refuses appends and crashes; it also plays the share coordinator, which is late
and fails. `members` are the clients, `world` runs a seed and checks it, `mutations` has planted
bugs that it must find. `python -m tests.simulation share-groups SEED` replays a run.
"""
