"""The rules of a lab: what they match, what they do, and which of them act next.

May enter: declarations and decisions, without time and sockets. Begin with `rule.py`, which
declares matches and actions once; `rule_table.py` counts and chooses.
"""
