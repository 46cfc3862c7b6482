"""Looks into any Kafka, and serves what it sees as JSON to a page.

It asks by the protocol alone: nodes, topics, offsets, records with their fates, transactions,
groups and their lag in records. All work of a question is bounded, whatever the size of the
cluster. What only a broker with a control knows (faults, clock, trace) stays in `lab/`.

Functions that ask take a `Client`; nothing here starts by itself. Begin with `questions.py`, the
table of all questions, and `browser.py`, which asks them one at a time. `local_http.py` is the
server of local pages, which the control uses too.
"""
