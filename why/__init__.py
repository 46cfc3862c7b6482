"""Why is it stuck? Facts about a cluster in, sentences out: what waits, for what, and what to do.

`facts.py` has the facts as values. `collector.py` asks any Kafka for them, by the protocol alone,
and an Ottla with a control also for what no protocol shows (`control_facts.py`). `explanation.py`
turns facts into `Finding`s: it sends no request and reads no clock, so that each sentence can be
tested from facts alone. The rules are by subject: `of_transactions.py`, `of_groups.py`,
`of_share_groups.py`, `of_partitions.py`, `of_clients.py`.

A new sentence is a function of one of these that gets the facts and yields findings, and a row in
the table of tests/why. Nothing that changes a cluster may enter.
Begin with `explain` in `explanation.py`.
"""

from __future__ import annotations

from .collector import collect
from .explanation import Explanation, explain
from .facts import Facts, Subject
from .findings import Finding

__all__ = ["Explanation", "Facts", "Finding", "Subject", "collect", "explain"]
