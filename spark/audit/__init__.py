"""`ottla audit` on Spark: reads logs, and folds the rules of `ottla.audit`."""
