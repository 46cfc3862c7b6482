"""The data pipeline on PySpark: session, demo."""
