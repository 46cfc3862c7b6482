"""The pipeline on PySpark: its pure parts, and one session against a running broker."""
