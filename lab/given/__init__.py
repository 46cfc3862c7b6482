"""Given states: topics, transactions and groups that a test starts from (docs/reference/lab).

May enter: what a broker is given before a test. Begin with `specs.py`, the types of the orders,
then `given.py`.
"""
