"""The loggers: which part of the broker writes to which logger, under Kafka's names.

Clients list the loggers and set their levels (KIP-412), and so does `ottla serve --log-level`.
Names of parts that Kafka lacks begin with `ottla`. docs/reference/logging.md has this table for
users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

ROOT: Final = "root"
REQUESTS: Final = "kafka.request.logger"
LEVELS: Final = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}
"""Kafka's names of the levels; no line has the level FATAL."""
DEFAULT_LEVELS: Final[Mapping[str, str]] = {ROOT: "INFO", REQUESTS: "WARN"}
"""As in Kafka's config/log4j2.yaml."""

_LOG_MANAGER: Final = "kafka.log.LogManager"
_COORDINATORS: Final = "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime"
LOGGERS: Final[Mapping[str, str]] = {
    "authorization": "kafka.authorizer.logger",
    "background": _LOG_MANAGER,
    "cleaner": "org.apache.kafka.storage.internals.log.LogCleaner",
    "connection": "kafka.network.Processor",
    "control": "ottla.control",
    "controller": "org.apache.kafka.controller.QuorumController",
    "coordinators": _COORDINATORS,
    "dead_letters": "org.apache.kafka.server.share.dlq.ShareGroupDLQStateManager",
    "dispatch": "kafka.server.KafkaApis",
    "events": "ottla.events",
    "flushes": _LOG_MANAGER,
    "groups": "org.apache.kafka.coordinator.group.GroupMetadataManager",
    "leaders": "state.change.logger",
    "loading": _COORDINATORS,
    "markers": "kafka.coordinator.transaction.TransactionMarkerChannelManager",
    "metadata": "org.apache.kafka.image.publisher.SnapshotGenerator",
    "nodes": "kafka.server.BrokerLifecycleManager",
    "producers": "org.apache.kafka.storage.internals.log.ProducerStateManager",
    "removals": _LOG_MANAGER,
    "requests": REQUESTS,
    "server": "kafka.network.SocketServer",
    "settings": "kafka.server.ConfigAdminManager",
    "shard": _COORDINATORS,
    "share_partitions": "kafka.server.share.SharePartitionManager",
    "share_states": "org.apache.kafka.coordinator.share.ShareCoordinatorService",
    "storage": "org.apache.kafka.storage.internals.log.UnifiedLog",
    "topic_logs": _LOG_MANAGER,
    "transactions": "kafka.coordinator.transaction.TransactionCoordinator",
}
"""The logger of each part of the broker."""
NAMES: Final = (ROOT, "kafka", "org.apache.kafka", *sorted(set(LOGGERS.values())))
"""The root, two groups of loggers that Kafka's config names too, and all loggers with lines."""


def read_levels(text: str) -> dict[str, str]:
    """The levels in a text such as `debug` or `info,kafka.request.logger=trace`.

    A level without a logger is the root's. Case does not matter, and `warning` is WARN.

    Returns:
        A level of LEVELS by logger.

    Raises:
        ValueError: a level or a logger is unknown; the text names the known ones.
    """
    found = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        logger, equals, level = part.rpartition("=")
        logger, level = logger.strip() if equals else ROOT, level.strip().upper()
        level = "WARN" if level == "WARNING" else level
        if level not in LEVELS:
            known = ", ".join(name.lower() for name in LEVELS)
            raise ValueError(f"{part}: the levels are {known}")
        if logger not in NAMES:
            raise ValueError(f"{part}: there is no such logger{_hint(logger, NAMES)}")
        found[logger] = level
    return found


def levels_from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The levels in the variables of Kafka's images.

    `KAFKA_LOG4J_ROOT_LOGLEVEL=WARN` and `KAFKA_LOG4J_LOGGERS=kafka.controller=WARN,...`. Loggers
    that Ottla lacks, and levels that it does not know, are passed over.
    """
    found = {}
    root = environ.get("KAFKA_LOG4J_ROOT_LOGLEVEL", "")
    pairs = environ.get("KAFKA_LOG4J_LOGGERS", "").split(",")
    for pair in [f"{ROOT}={root}", *pairs]:
        logger, _, level = (each.strip() for each in pair.partition("="))
        if logger in NAMES and level.upper() in LEVELS:
            found[logger] = level.upper()
    return found


def _hint(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]}?)" if close else "; docs/reference/logging.md lists them"
