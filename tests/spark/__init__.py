"""The pipeline on PySpark: what is pure, and one session against a running broker."""
