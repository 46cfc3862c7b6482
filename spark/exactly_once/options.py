"""The options of `format("kafka-exactly-once")`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final, Self

from ...client.properties import ClientProperties
from ...client.security import ClientSecurity
from ...protocol.java_integers import number_in
from .client_settings import is_security, librdkafka_security
from .names import origin_prefix
from .producer_settings import JAVA_DEFAULTS, librdkafka_settings, number_of

_DEFAULT_TIMEOUT_MS: Final = 900_000
_BLOCK_MS: Final = 60_000
_MOST_MARGIN_MS: Final = 60_000
_KAFKA: Final = "kafka."
_WAL_TOPIC: Final = "spark-sink-log"
_NAMES: Final = {
    name.lower(): name
    for name in ("topic", "transactionalIdPrefix", "walTopic", "commitMargin", "writeId")
}
_UNSHOWN: Final = frozenset({"stepsdirectory", "checkpointlocation", "queryname"})
"""For tests; and those of Spark itself, which it passes on."""
_MOST_TIMEOUT_MS: Final = (1 << 31) - 1
_MOST_BLOCK_MS: Final = _MOST_TIMEOUT_MS  # Java's longest is some millions of years
_MOST_NAME: Final = 30_000  # a transactional id, 32767 at most, has a prefix and numbers besides
_NAMED: Final = re.compile(r"[a-z.]+( cannot be set)?[=:]| ?[a-z.]+ (is|has) ")
"""The beginning of an error that has the name of a setting."""
SOON_CONNECTED: Final[Mapping[str, str]] = {
    # Else librdkafka closes its first connection, makes the next one on demand, and waits 50 ms or
    # 500 ms before it looks for its coordinator: longer than a small batch takes.
    "enable.sparse.connections": "false",
    "reconnect.backoff.ms": "20",
}
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
        block_ms: max.block.ms: how long a producer waits for its coordinator.
    """

    bootstrap_servers: str
    topic: str | None = None
    prefix: str = "spark-sink"
    wal_topic: str = _WAL_TOPIC
    timeout_ms: int = _DEFAULT_TIMEOUT_MS
    margin_ms: int = _MOST_MARGIN_MS
    write_id: str | None = None
    steps_directory: str | None = None
    producer: Mapping[str, str] = field(default_factory=dict)
    properties: ClientProperties = _PLAINTEXT
    secured: Mapping[str, str] = field(default_factory=dict, repr=False)
    block_ms: int = _BLOCK_MS

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """The options of a query; Spark passes their names in lower case.

        Raises:
            ValueError: an option is missing or cannot be used.
        """
        given = {name.lower(): value for name, value in options.items()}
        _check_names(given)
        _check_texts(given)
        kafka = {
            name.removeprefix(_KAFKA): value
            for name, value in given.items()
            if name.startswith(_KAFKA)
        }
        if "bootstrap.servers" not in kafka:
            raise ValueError("kafka-exactly-once needs the option kafka.bootstrap.servers")
        try:
            _check_addresses(kafka["bootstrap.servers"])
            properties = ClientProperties.of(kafka)
            timeout_ms = _timeout_ms(kafka)
            producer = librdkafka_settings(
                {name: value for name, value in kafka.items() if not is_security(name)}
            )
            _check_delivery(producer, timeout_ms)
            block_ms = number_of("max.block.ms", kafka.get("max.block.ms", str(_BLOCK_MS)))
            if block_ms < 1:
                raise ValueError(f"max.block.ms={block_ms}: expected 1 or more")
        except ValueError as wrong:
            named = _NAMED.match(str(wrong))  # else it is about a store
            raise ValueError(f"kafka-exactly-once: {_KAFKA if named else ''}{wrong}") from None
        try:
            margin = given.get("commitmargin", str(min(_MOST_MARGIN_MS, timeout_ms // 4)))
            margin_ms = number_of("commitMargin", margin)
            if not 0 <= margin_ms <= timeout_ms:
                raise ValueError(
                    f"commitMargin={margin}: expected 0 to {timeout_ms}, the"
                    " kafka.transaction.timeout.ms"
                )
        except ValueError as wrong:
            raise ValueError(f"kafka-exactly-once: {wrong}") from None
        return cls(
            kafka["bootstrap.servers"],
            given.get("topic"),
            given.get("transactionalidprefix", "spark-sink"),
            given.get("waltopic", _WAL_TOPIC),
            timeout_ms,
            margin_ms,
            given.get("writeid"),
            given.get("stepsdirectory"),
            producer,
            properties,
            librdkafka_security(kafka, properties),
            min(block_ms, _MOST_BLOCK_MS),
        )

    def security(self) -> ClientSecurity:
        """The security of the driver's own connections. Raises ValueError: a key is unusable."""
        return self.properties.security()

    @property
    def answer_s(self) -> float:
        """How long a producer waits for its coordinator: never longer than for its rows."""
        delivery_ms = int(self.producer.get("delivery.timeout.ms", self.block_ms))
        return min(self.block_ms, delivery_ms) / 1000

    @property
    def delivery_ms(self) -> int:
        """How long a task waits for the acknowledgement of a row."""
        chosen = self.producer.get("delivery.timeout.ms", JAVA_DEFAULTS["delivery.timeout.ms"])
        return min(int(chosen), self.timeout_ms)

    def settings_of_clients(self) -> dict[str, str | int | float | bool]:
        """The settings that all clients of librdkafka have."""
        return {
            "log_level": 0,
            "bootstrap.servers": self.bootstrap_servers,
            # Restarted brokers are found soon: the default is ten seconds.
            "reconnect.backoff.max.ms": "1000",
            **SOON_CONNECTED,
            **self.secured,
        }

    def settings(self, transactional_id: str, timeout_ms: int | None = None) -> dict[str, object]:
        """The settings of a producer of librdkafka."""
        timeout = self.timeout_ms if timeout_ms is None else timeout_ms
        # librdkafka refuses a delivery that may take longer than the transaction. The transactions
        # of the write-ahead log are shorter than those of the tasks, which the option is for.
        return {
            **self.settings_of_clients(),
            **JAVA_DEFAULTS,
            **self.producer,
            "delivery.timeout.ms": min(self.delivery_ms, timeout),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout,
        }


def _check_names(given: Mapping[str, str]) -> None:
    """Raise ValueError for an option that the sink does not have."""
    for name in given:
        if name in _NAMES or name in _UNSHOWN or name.startswith(_KAFKA):
            continue
        near = [_NAMES[each] for each in get_close_matches(name, _NAMES, 1)]
        if "." in name:  # a setting of a client
            near = [f"kafka.{name}"]
        hint = f": did you mean {near[0]}?" if near else ""
        allowed = ", ".join(sorted(_NAMES.values()))
        raise ValueError(
            f"kafka-exactly-once: unknown option {name}{hint} (known are {allowed}, kafka.NAME)"
        )


def _check_texts(given: Mapping[str, str]) -> None:
    """Raise ValueError for an option without content: it would count as one that is not given."""
    for name, known in _NAMES.items():
        if name in given and not given[name].strip():
            raise ValueError(
                f"kafka-exactly-once: {known} is empty: leave the option out, or give it a value"
            )
    write_id = given.get("writeid", "")
    if len(origin_prefix("", write_id)) > _MOST_NAME:
        raise ValueError(
            f"kafka-exactly-once: writeId has {len(write_id)} characters: with those that are"
            f" escaped, a transactional id has room for {_MOST_NAME}"
        )
    topic = given.get("topic")
    if topic is not None and topic == given.get("waltopic", _WAL_TOPIC):
        raise ValueError(
            f"kafka-exactly-once: topic and walTopic are both {topic}: the write-ahead log needs"
            " a topic of its own"
        )


def _check_addresses(text: str) -> None:
    for each in text.split(","):
        host, _, port = each.strip().rpartition(":")
        number = number_in(port) if port.isdecimal() else None  # without a sign
        if not host or number is None or not 0 < number < 1 << 16:
            raise ValueError(f"bootstrap.servers={text}: expected HOST:PORT, with commas between")


def _timeout_ms(kafka: Mapping[str, str]) -> int:
    text = kafka.get("transaction.timeout.ms", str(_DEFAULT_TIMEOUT_MS))
    found = number_of("transaction.timeout.ms", text)
    if not 1000 <= found <= _MOST_TIMEOUT_MS:
        raise ValueError(f"transaction.timeout.ms={text}: expected 1000 to {_MOST_TIMEOUT_MS}")
    return found


def _check_delivery(producer: Mapping[str, str], timeout_ms: int) -> None:
    text = producer.get("delivery.timeout.ms")
    if text is not None and not 0 < int(text) <= timeout_ms:
        raise ValueError(
            f"delivery.timeout.ms={text}: expected 1 to {timeout_ms}, the transaction.timeout.ms"
        )
