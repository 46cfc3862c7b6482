"""Ottla: a Kafka-compatible broker for one machine, with all of Kafka's transactions.

Users import this package and `ottla.testing`. The rooms below (`ottla.broker`, `ottla.storage`,
`ottla.coordinator`, `ottla.protocol`, `ottla.spark`) implement the broker.
"""

__version__ = "0.1.0"
