"""What rules do: to requests, to steps of the broker, to its files.

May enter: what acts on a broker because of a rule. Begin with `dispatch.py`, which stands around
requests, then `actions.py`; `broker_steps.py` acts on steps, by the hooks of `hooked_files.py`.
"""
