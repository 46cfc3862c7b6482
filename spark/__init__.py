"""The data pipeline on PySpark: session, connector, streaming queries, audit, demo."""
