"""The lab: faults in a running broker, its trace, its clock and given states, for tests.

It stands outside of the broker, which does not import it: a rule or a trace replaces the dispatch
of requests (`actions/dispatch.py`), and observes the events of the broker
(`actions/broker_steps.py`, `tracing/trace.py`). `rules/rule.py` declares matches and actions once;
checks and the description of the interface are made of it.

Begin with `rules/rule.py`, then `actions/dispatch.py`; `control/` is how tests reach it.
"""
