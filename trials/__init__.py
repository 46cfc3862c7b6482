"""Runs programs of users against a broker that has faults, and judges what they did.

`conform/` runs a client through scenarios and applies the rules of `ottla.verdict`; `torture/` runs
an application under schedules of faults and finds the fewest steps that fail; `museum/` replays
published bugs of clients; `diff/` sends the same requests to Ottla and to a Kafka. The processes of
these programs end with the process that started them, however it ends (`process_groups.py`). A
`Trial` is what they share: a broker, its trace and a deadline.

Begin with `conform/scenario_run.py`.
"""
