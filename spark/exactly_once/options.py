"""The options of `format("kafka-exactly-once")`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from ...security.client_properties import ClientProperties
from ...security.client_security import ClientSecurity
from .client_settings import is_security, librdkafka_security

_DEFAULT_TIMEOUT_MS: Final = 900_000
_DEFAULT_ANSWER_MS: Final = 60_000
_MOST_MARGIN_MS: Final = 60_000
_KAFKA: Final = "kafka."
_OTHERS: Final = frozenset(
    {
        "bootstrap.servers", "transactional.id", "enable.idempotence", "acks",
        "transaction.timeout.ms", "statistics.interval.ms",
    }
)  # fmt: skip
_PLAINTEXT: Final = ClientProperties("PLAINTEXT", None, None, "PLAIN")


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The options, checked.

    Attributes:
        bootstrap_servers: HOST:PORT, with commas between them.
        topic: of rows without a column `topic`.
        producer: further settings of librdkafka.
        properties: the security of all clients.
        secured: the same, for librdkafka.
        timeout_ms: transaction.timeout.ms.
        margin_ms: no batch is decided if less than this is left of a timeout.
        write_id: the name of a batch write.
        steps_directory: see `steps`.
    """

    bootstrap_servers: str
    topic: str | None = None
    prefix: str = "spark-sink"
    wal_topic: str = "spark-sink-log"
    timeout_ms: int = _DEFAULT_TIMEOUT_MS
    margin_ms: int = _MOST_MARGIN_MS
    write_id: str | None = None
    steps_directory: str | None = None
    producer: Mapping[str, str] = field(default_factory=dict)
    properties: ClientProperties = _PLAINTEXT
    secured: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """The options of a query; Spark passes their names in lower case.

        Raises:
            ValueError: an option is missing or cannot be used.
        """
        given = {name.lower(): value for name, value in options.items()}
        kafka = {
            name.removeprefix(_KAFKA): value
            for name, value in given.items()
            if name.startswith(_KAFKA)
        }
        if "bootstrap.servers" not in kafka:
            raise ValueError("kafka-exactly-once needs the option kafka.bootstrap.servers")
        try:
            properties = ClientProperties.of(kafka)
        except ValueError as wrong:
            raise ValueError(f"kafka-exactly-once: kafka.{wrong}") from None
        timeout_ms = int(kafka.get("transaction.timeout.ms", _DEFAULT_TIMEOUT_MS))
        return cls(
            kafka["bootstrap.servers"],
            given.get("topic"),
            given.get("transactionalidprefix", "spark-sink"),
            given.get("waltopic", "spark-sink-log"),
            timeout_ms,
            int(given.get("commitmargin", min(_MOST_MARGIN_MS, timeout_ms // 4))),
            given.get("writeid"),
            given.get("stepsdirectory"),
            {
                name: value
                for name, value in kafka.items()
                if name not in _OTHERS and not is_security(name)
            },
            properties,
            librdkafka_security(kafka, properties),
        )

    def security(self) -> ClientSecurity:
        """The security of the driver's own connections. Raises ValueError: a key is unusable."""
        return self.properties.security()

    @property
    def answer_s(self) -> float:
        """How long a producer waits for its coordinator: as long as for acknowledgements."""
        return int(self.producer.get("delivery.timeout.ms", _DEFAULT_ANSWER_MS)) / 1000

    def settings_of_clients(self) -> dict[str, str | int | float | bool]:
        """The settings that all clients of librdkafka have."""
        return {
            "log_level": 0,
            "bootstrap.servers": self.bootstrap_servers,
            # Restarted brokers are found soon: the default is ten seconds.
            "reconnect.backoff.max.ms": "1000",
            **self.secured,
        }

    def settings(self, transactional_id: str, timeout_ms: int | None = None) -> dict[str, object]:
        """The settings of a producer of librdkafka."""
        timeout = self.timeout_ms if timeout_ms is None else timeout_ms
        return {
            **self.settings_of_clients(),
            "linger.ms": "5",
            "compression.type": "lz4",
            **self.producer,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout,
        }
