"""One partition of a share group, on the partition's leader (KIP-932).

`partition.py` has the machine, `SharePartition`: which records are out, to whom, for how long and
how often. `in_flight.py` has the records that are known, in runs of equal ones; `changes.py` the
changes that wait for the share coordinator. The machine knows no storage and no time: callers pass
the batches of the log and the time in, write what `Change.state_batches` has, and call `commit` or
`roll_back`. Kafka's class for it is SharePartition.
"""
