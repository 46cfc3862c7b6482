"""The pipeline on PySpark: its pure parts, and one session with a running broker."""
