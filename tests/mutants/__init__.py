"""Plants bugs one at a time into a copy of the source; the tests must find each of them.

`make mutants` runs it; `python -m tests.mutants --help` lists the options. The bugs of a room are
data in the module of its name.
"""
