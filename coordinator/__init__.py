"""The coordinators as pure state machines: transactions, groups, offsets. No clock, file, await.

A machine decides and returns an `Outcome`; it changes durable state only when a record of its log
is replayed, at a restart as in operation. A shard (`broker/runtime/shards/shard.py`) runs it:

    outcome = machine.end(request, now)      # decide: nothing durable has changed
    log.append(outcome.records)              # append: one batch, whole or not at all
    for record in outcome.records:
        machine.replay(record)               # replay: the only change of durable state
    for effect in outcome.effects:
        carry_out(effect)                    # carry out: markers to write, parked answers
    return outcome.reply                     # answer

There is no await between these lines, so that no lock is needed. Timers, sessions and other state
that no record holds is volatile, and declared as such (`volatile.py`).

Begin with `outcome.py`, then `transactions/coordinator.py`.
"""
