"""Releases of Kafka that the broker can answer as (`ottla serve --as`); imported only for that.

Begin with `release.py`. What a release has and what it lacks is data: `api_rows.py` and
`setting_rows.py`, from recordings of real brokers (tests/broker/releases).
"""
