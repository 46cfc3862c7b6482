"""Bugs planted one at a time into a copy of the source, each of which the tests must find.

`make mutants` runs it; `python -m tests.mutants --help` says what else it does. A room's bugs are
data in the module of its name.
"""
