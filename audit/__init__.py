"""The audit's rules: pure folds over plain rows of logs; no Spark, no files, no clock."""
