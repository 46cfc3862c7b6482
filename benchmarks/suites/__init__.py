"""The test suites whose wall time `benchmarks/bench_suites.py` compares on several brokers.

A suite is a command that runs against a broker. Those of client libraries come from the registries
of Go and Python, as their authors release them, and go into the cache directory once.
"""
