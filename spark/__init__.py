"""The data pipeline on PySpark, local or on a cluster.

`session.py` makes a session with Spark's connector (`connector.py` finds its jars). `kafka_log/`
reads the logs of a data directory as DataFrames, `exactly_once/` writes with Kafka's transactions,
`audit/` runs the rules of `ottla.audit` on sorted rows. `testing.py` is for tests of streaming
queries. `demo.py` is `ottla demo`: `orders.py` and `pipeline.py` are its application.

Begin with `session.py`, then `exactly_once/data_source.py`.
"""
