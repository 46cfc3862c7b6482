"""Transactions simulated: the real machines and logs, in a world where all goes wrong that can.

One seed is one run, always the same: `scheduler` is its time and its order of events, `network`
what becomes of messages, `cluster` the brokers with the real logs and coordinators on disks that
lose power, `requests` what a broker does for each request, `channel` how markers travel,
`producer`, `consumer` and `application` the clients, `faults` what happens to all of them,
`history` what clients were promised and `checks` whether it holds. `world` puts a run together,
`mutations` are bugs to be found by it. `python -m tests.simulation SEED` replays a run.
"""
