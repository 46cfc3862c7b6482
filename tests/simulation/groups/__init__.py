"""Groups simulated: the real coordinator, members of both protocols, and all their bad luck.

One seed is one run, always the same; time, the order of events and the network are those of the
simulation of transactions. `log` is what the coordinator remembers, `coordinator` runs the machine
over it and dies at any of its appends, `classic`, `consumer` and `client` are members, `crowd` who
is one when, `faults` what happens to all of them, `oracle` what was promised and whether it holds.
`world` puts a run together, `mutations` are bugs to be found by it.
`python -m tests.simulation.groups SEED` replays a run.
"""
