"""Ottla: a Kafka-compatible broker for one machine, with all of Kafka's transactions.

What people import is here and in `ottla.testing`; the rooms below (`ottla.broker`, `ottla.storage`,
`ottla.coordinator`, `ottla.protocol`, `ottla.spark`) are the broker itself.
"""

__version__ = "0.1.0"
