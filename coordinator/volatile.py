"""Volatile state: state that no record of the log holds, so a decision may change it at once.

All other state of a machine is durable and changes by replay alone: a decision leaves it as it was
if the log does not take the records. After a restart volatile state is empty. The machine rebuilds
it (sessions begin again) or does without it (members join again).

A class is volatile as a whole (it derives from `Volatile`), or it names its volatile attributes in
`VOLATILE`. A classic group is volatile as a whole, because it is a working copy: joins change it at
once, and it equals its record when no rebalance is under way.
tests/coordinator/test_volatile_state.py decides without replay and compares the rest;
tests/coordinator/classic/test_model.py compares classic groups with their records.
"""

from __future__ import annotations


class Volatile:
    """A class without durable state: timers, and rebalances whose leader has sent no assignment."""

    __slots__ = ()
