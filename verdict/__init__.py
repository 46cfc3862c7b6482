"""Judges what clients and applications did. Pure folds; a test and a command run the same ones.

`rules/` has the rules of the protocol, over the exchanges of a trace: a class each, with its
sentence, its source in Kafka, and whom it applies to; `judge.py` runs them all. `oracle/` judges
what an application says it wrote and read, against the logs of the cluster.

Begin with `rules/rule.py`, then `rules/transaction.py`; for the oracle with `oracle/history.py`.
"""
