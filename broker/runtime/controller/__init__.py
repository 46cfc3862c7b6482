"""The controller: it decides about topics, settings and brokers, and appends the records.

Begin with `controller.py`.
"""
