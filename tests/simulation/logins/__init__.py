"""Simulation of logins: the real mechanisms and order of messages, with clients right and wrong.

One seed is one run. Several connections send legal and illegal messages in turn, while passwords,
credentials and tokens change and time moves. `clients` has the connections and what they know,
`secrets` the credentials, `world` runs a seed and checks each answer, `mutations` has planted bugs.
`python -m tests.simulation logins SEED` replays a run.
"""
