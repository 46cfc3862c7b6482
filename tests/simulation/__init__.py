"""Simulation of transactions: the real coordinators and logs, with faults of all kinds.

One seed is one run, and each replay of it is equal. `scheduler` has the virtual time and the order
of events, `network` loses and delays messages, `cluster` has the brokers with the real logs and
coordinators on disks that lose power. `requests` makes the requests, `channel` delivers markers,
`producer`, `consumer` and `application` are the clients, `faults` injects faults. `history` records
the clients' requests and answers, and `checks` compares the logs with it. `world` runs a seed,
`mutations` has planted bugs that it must find.

The other simulations are in the folders. `simulations` lists all, `simulation` is their frame, and
`python -m tests.simulation transactions SEED` replays a run.
"""
