"""The settings of the sink's producers: names of Java's producer become those of librdkafka. Pure.

Rows of another sink stay where they were: partitions, limits and times are those of Java's producer
where the two clients differ (docs/reference/spark-sink.md has the table).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

JAVA_DEFAULTS: Final[Mapping[str, str]] = {
    "partitioner": "murmur2_random",
    "delivery.timeout.ms": "120000",
    "retry.backoff.max.ms": "1000",
    "acks": "all",
    "enable.idempotence": "true",
    "max.in.flight.requests.per.connection": "5",
    "message.max.bytes": "1048576",
    "queue.buffering.max.kbytes": "32768",
    "compression.type": "none",
    "linger.ms": "5",
}
"""Java's defaults (Kafka 4.1, ProducerConfig), by their names in librdkafka."""

RENAMED: Final = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "message.timeout.ms": "delivery.timeout.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "compression.codec": "compression.type",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
}
"""Names of Java and other names of librdkafka, and the name that the sink sets."""
_ONLY: Final = {"acks": ("all", "-1"), "enable.idempotence": ("true",)}
_REFUSED: Final = {
    "transactional.id": "each task has its own, which begins with transactionalIdPrefix",
    "key.serializer": "keys are written as they are: cast the column to string or binary",
    "value.serializer": "values are written as they are: cast the column to string or binary",
    "interceptor.classes": "there is no Java client",
    "partitioner.class": "there is no Java client: use the column partition, or kafka.partitioner",
    "partitioner.ignore.keys": "use kafka.partitioner",
    "partitioner.adaptive.partitioning.enable": "librdkafka has no such partitioner",
    "partitioner.availability.timeout.ms": "librdkafka has no such partitioner",
    "compression.gzip.level": "use kafka.compression.level",
    "compression.lz4.level": "use kafka.compression.level",
    "compression.zstd.level": "use kafka.compression.level",
    "statistics.interval.ms": "the sink reads the statistics itself",
    "group.id": "it is a setting of consumers",
    "auto.offset.reset": "it is a setting of consumers",
    "enable.auto.commit": "it is a setting of consumers",
    "isolation.level": "it is a setting of consumers",
    "key.deserializer": "it is a setting of consumers",
    "value.deserializer": "it is a setting of consumers",
}
OWN_PRODUCERS: Final = frozenset({"bootstrap.servers", "transaction.timeout.ms", "max.block.ms"})
"""Settings that the sink itself handles."""


def librdkafka_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of a producer in names of librdkafka.

    Args:
        settings: without the prefix `kafka.`, and without those of security.

    Raises:
        ValueError: a setting cannot be used; the text begins with its name.
    """
    found: dict[str, str] = {}
    for name, value in settings.items():
        if name in _REFUSED:
            raise ValueError(f"{name} cannot be set: {_REFUSED[name]}")
        if name in OWN_PRODUCERS:
            continue
        if name == "buffer.memory":
            kilobytes = -(-number_of(name, value) // 1024)
            found["queue.buffering.max.kbytes"] = str(max(1, kilobytes))
            continue
        chosen = RENAMED.get(name, name)
        allowed = _ONLY.get(chosen)
        if allowed is not None and value.lower() not in allowed:
            raise ValueError(f"{name}={value}: the sink needs {chosen}={allowed[0]}")
        if name in ("send.buffer.bytes", "receive.buffer.bytes") and value == "-1":
            value = "0"  # what the operating system has
        if chosen.endswith(".ms") or chosen.endswith(".bytes"):
            number_of(name, value)
        found[chosen] = value
    return found


def number_of(name: str, value: str) -> int:
    """The whole number in a setting. Raises ValueError with its name."""
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{name}={value}: expected a whole number") from None
