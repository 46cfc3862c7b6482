"""Simulation of groups: the real coordinator and members of both protocols, with faults.

One seed is one run, and each replay of it is equal. Time, the order of events and the network are
those of the simulation of transactions. `log` has the records, `coordinator` runs the real machine
over the log and crashes at any of its appends. `classic`, `consumer` and `client` are members,
`crowd` starts and replaces them, `faults` injects faults. `oracle` compares the coordinator with
the answers that clients got. `world` runs a seed, `mutations` has planted bugs that it must find.
`python -m tests.simulation groups SEED` replays a run.
"""
