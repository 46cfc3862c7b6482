"""The lab: faults in a running broker, its trace, its clock and given states, for tests.

It stands outside of the broker, which does not import it: a rule or a trace replaces the dispatch
of requests (`dispatch.py`), and observes the events of the broker (`steps.py`, `trace.py`).
`rules.py` declares matches and actions once; checks and the description of the interface are made
of it.

Begin with `rules.py`, then `dispatch.py`; `control_http.py` is how tests reach it.
"""
