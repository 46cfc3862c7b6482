"""The audit's rules: pure folds over plain rows of logs; no Spark, no files, no clock.

`rows.py` says what a row is. `partition.py`, `producers.py`, `coordinator.py` and `offsets.py` each
fold the rows of one log; `exactly_once.py` compares logs; `rules_table.py` has each rule with its
sentence. `whole.py` runs all of them in memory, `ottla.spark.audit` on rows that Spark sorts.

Begin with `rules_table.py`, then `whole.py`.
"""
