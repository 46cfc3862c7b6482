"""Checks of settings that may change while a broker runs: of topics, brokers, groups and metrics.

`check` gets all settings of a resource after the change, and raises Refused, with Kafka's codes and
messages, before anything changes. The checks of broker settings follow Kafka's ConfigAdminManager
and DynamicBrokerConfig, the others its ControllerConfigurationValidator.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from ...metadata.catalog import ResourceType
from ...metadata.features import ELR_VERSION
from ...metadata.topic_names import check_topic_name
from ...protocol.errors import Code, Refused
from ...protocol.java_integers import number_in
from ..settings.broker_settings import BROKER_SETTINGS
from ..settings.config import BrokerConfig, setting_of, validate_topic_configs
from ..settings.definitions import BadSetting, Kind, Mode, Setting, Table, Wrong, typed
from ..settings.listeners import prefix_of
from ..settings.rules import check_together
from ..settings.support import refusal
from ..settings.topic_settings import (
    GROUP_BOUNDS,
    GROUP_SETTINGS,
    METRICS_SETTINGS,
)

if TYPE_CHECKING:
    from ..node import Node

MIN_INSYNC = "min.insync.replicas"
# Settable only for one listener, with the prefix `listener.name.NAME.` (DynamicBrokerConfig).
SECURITY = frozenset(
    f"ssl.{name}"
    for name in (
        "key.password",
        "keystore.certificate.chain",
        "keystore.key",
        "keystore.location",
        "keystore.password",
        "keystore.type",
        "truststore.certificates",
        "truststore.location",
        "truststore.password",
        "truststore.type",
    )
)
THREADS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
)
CLEANER_THREADS, CLEANER_BUFFER = "log.cleaner.threads", "log.cleaner.dedupe.buffer.size"
# Ottla loads no classes; it accepts Kafka's default reporter, which has no effect.
REPORTERS, JMX = "metric.reporters", "org.apache.kafka.common.metrics.JmxReporter"
KAFKAS_CLASSES = ("org.apache.kafka.", "kafka.")
CONNECTIONS = ("max.connections", "max.connection.creation.rate")
# Kafka's messages for settings that contradict each other; at the start Ottla's say more.
REQUIRED = "requirement failed:"
KAFKAS_WORDS = {
    CLEANER_BUFFER: "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    "log.retention.ms": "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
    "log.roll.jitter.ms": "log.roll.jitter.ms must be greater than or equal to 0",
    "log.roll.ms": "log.roll.ms must be greater than or equal to 1",
    "max.connections.per.ip": "max.connections.per.ip can be set to zero only if "
    "max.connections.per.ip.overrides property is set.",
}
# Quotas of replication: no settings of a broker's file, yet numbers (QuotaConfig).
REPLICATION_RATES = Table("""
follower.replication.throttled.rate long 9223372036854775807 0.. cluster
leader.replication.throttled.rate long 9223372036854775807 0.. cluster
replica.alter.log.dirs.io.max.bytes.per.second long 9223372036854775807 0.. cluster
""")
CLUSTER_LEVEL_OF_LISTENERS = ("max.connections", "max.connection.creation.rate")
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
STREAMS_ASSIGNOR = "streams.assignor.name"
RACK_TAGS = "streams.rack.aware.assignment.tags"
METRICS_INTERVAL_MS = range(100, 3_600_001)
METRICS_MATCHES = frozenset(
    f"client_{what}"
    for what in ("id", "instance_id", "software_name", "software_version", "source_address",
                 "source_port")
)  # fmt: skip


def check(node: Node, resource_type: ResourceType, name: str, wanted: Mapping[str, str]) -> None:
    """Raise Refused if a resource may not have these settings, or does not exist."""
    match resource_type:
        case ResourceType.TOPIC:
            if not name:
                raise Refused(Code.INVALID_REQUEST, "Default topic resources are not allowed.")
            check_topic_name(name)
            validate_topic_configs(wanted)
            if name not in node.catalog.topics:
                why = f"The topic '{name}' does not exist."
                raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION, why)
        case ResourceType.BROKER:
            check_node_id(name, node.node_id)
            present = node.catalog.overrides(resource_type, name)
            new = {key: text for key, text in wanted.items() if present.get(key) != text}
            _check_broker(node, name, wanted, new)
        case ResourceType.GROUP:
            _check_group(node.config, name, wanted)
        case ResourceType.CLIENT_METRICS:
            _check_metrics(name, wanted)


def check_node_id(name: str, node_id: int) -> None:
    """Raise Refused unless the resource name is this broker's id, or empty for all brokers."""
    if not name:
        return
    number = number_in(name)
    if number is None:
        raise Refused(Code.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if number != node_id:
        why = f"Unexpected broker id, expected {node_id}, but received {name}"
        raise Refused(Code.INVALID_REQUEST, why)


def _check_broker(node: Node, name: str, wanted: Mapping[str, str], new: Mapping[str, str]) -> None:
    _refuse_any(
        [key for key in new if (known := BROKER_SETTINGS.get(key)) and known.read_only],
        "Cannot update these configs dynamically",
    )
    _refuse_any(
        [key for key in new if key in SECURITY],
        "These security configs can be dynamically updated only per-listener using the listener "
        "prefix",
    )
    for key, text in new.items():
        _check_value(setting_of(key) or REPLICATION_RATES.get(key), text)
    if not name:
        _refuse_any(
            [key for key in new if _is_for_one_broker(key)],
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    if "listeners" in new:
        why = "listeners cannot be changed while Ottla runs; set them at its start"
        raise Refused(Code.INVALID_REQUEST, why)
    for key in CONNECTIONS:
        if new.get(key, "").strip() == "0":
            raise _invalid(f"Invalid {key} 0")
    reporters = BROKER_SETTINGS[REPORTERS].parse(new.get(REPORTERS, ""))
    if isinstance(reporters, tuple) and not {JMX}.issuperset(reporters):
        raise _invalid(
            f"Validation of dynamic config update of Set({REPORTERS}) failed with class class "
            "kafka.server.DynamicMetricsReporters"
        )
    _check_threads(node.config, new)
    _check_with_the_rest(node, name, wanted)
    _check_support(new)


def _check_support(new: Mapping[str, str]) -> None:
    """Refuse values that Kafka accepts and Ottla does not; called after Kafka's own checks."""
    for key, text in new.items():
        setting = setting_of(key)
        why_not = None if setting is None else refusal(setting, text)
        if why_not is not None:
            raise Refused(Code.INVALID_CONFIG, f"{key} {why_not}")


def _refuse_any(names: Sequence[str], why: str) -> None:
    if names:
        raise Refused(Code.INVALID_REQUEST, f"{why}: [{', '.join(names)}]")


def _check_value(setting: Setting | None, text: str) -> None:
    if setting is None:
        return
    try:
        entries = [each.strip() for each in text.split(",")]
        if setting.kind is Kind.LIST and len(set(entries)) < len(entries):
            why = f"Configuration '{setting.name}' values must not be duplicated."
            raise Wrong(text, why, is_whole=True)
        setting.parse(text)
        if setting.kind is Kind.CLASS and not text.strip().startswith(KAFKAS_CLASSES):
            raise Wrong(text, f"Class {text} could not be found.")
    except Wrong as wrong:
        raise Refused(Code.INVALID_REQUEST, setting.complaint(wrong)) from None


def _is_for_one_broker(name: str) -> bool:
    if name.startswith("listener.name."):
        return not name.endswith(CLUSTER_LEVEL_OF_LISTENERS)
    setting = BROKER_SETTINGS.get(name)
    return setting is not None and setting.mode is Mode.BROKER


def _check_threads(config: BrokerConfig, new: Mapping[str, str]) -> None:
    """Check changed numbers of threads like Kafka, although Ottla does not have these threads."""
    for name in THREADS:
        if name not in new:
            continue
        value, current = int(new[name]), config[name]
        if name == CLEANER_THREADS:
            why = f"Log cleaner threads cannot be {{}} the current value {current}"
            more, less = "increased to more than double", "reduced to less than half"
            wrong = why.format(more if value > 2 * current else less)
        else:
            if value < 1:
                limit = "value should be at least 1"
            elif value > 2 * current:
                limit = f"value should not be greater than double the current value {current}"
            else:
                limit = f"value should be at least half the current value {current}"
            wrong = f"Dynamic thread count update validation failed for {name}={value}, {limit}"
        if value < 1 or not current // 2 <= value <= 2 * current:
            raise _invalid(wrong)


def _invalid(why: str) -> Refused:
    """The error for a ConfigException that Kafka's brokers throw late."""
    return Refused(
        Code.INVALID_REQUEST,
        f"Invalid value org.apache.kafka.common.config.ConfigException: {why} for configuration "
        "Invalid dynamic configuration",
    )


def check_elr(node: Node, name: str, wanted: Mapping[str, str], named: Collection[str]) -> None:
    """Raise Refused for a broker's own min.insync.replicas while ELR is enabled (KIP-966)."""
    if not node.catalog.features.get(ELR_VERSION, 0):
        return
    present = node.catalog.overrides(ResourceType.BROKER, name)
    if name and (MIN_INSYNC in named or wanted.get(MIN_INSYNC) != present.get(MIN_INSYNC)):
        why = f"Broker-level {MIN_INSYNC} cannot be altered while ELR is enabled."
        raise Refused(Code.INVALID_CONFIG, why)
    if not name and MIN_INSYNC in present and MIN_INSYNC not in wanted:
        why = f"Cluster-level {MIN_INSYNC} cannot be removed while ELR is enabled."
        raise Refused(Code.INVALID_CONFIG, why)


def _check_with_the_rest(node: Node, name: str, wanted: Mapping[str, str]) -> None:
    overrides = node.catalog.overrides
    other = overrides(ResourceType.BROKER, "" if name else str(node.node_id))
    candidate = BrokerConfig(node.config.given, login_sections=node.config.login_sections)
    candidate.use_dynamic(*((other, wanted) if name else (wanted, other)))
    buffer_bytes, threads = candidate[CLEANER_BUFFER], candidate[CLEANER_THREADS]
    if wanted.keys() & {CLEANER_BUFFER, CLEANER_THREADS} and buffer_bytes <= threads << 20:
        raise Refused(Code.INVALID_REQUEST, f"{REQUIRED} {KAFKAS_WORDS[CLEANER_BUFFER]}")
    try:
        check_together(candidate)
    except BadSetting as bad:
        words = KAFKAS_WORDS.get(bad.name)
        why = str(bad) if words is None else f"{REQUIRED} {words}"
        raise Refused(Code.INVALID_REQUEST, why) from None
    _check_tls(candidate, node.config, wanted)


def _check_tls(candidate: BrokerConfig, present: BrokerConfig, wanted: Mapping[str, str]) -> None:
    """Read the stores of listeners whose settings change, so that a wrong one changes nothing."""
    protocols = candidate.protocols
    for listener in candidate.listeners:
        protocol, prefix = protocols[listener.name], prefix_of(listener.name) + "ssl."
        if protocol.has_tls and any(key.startswith(prefix) for key in wanted):
            from ..settings.tls import check_names, check_tls

            try:
                check_tls(candidate, listener.name, protocol)
                check_names(candidate, present, listener.name, protocol)
            except BadSetting as bad:
                raise Refused(Code.INVALID_REQUEST, f"{bad.name}: {bad.allowed}") from None


def _check_group(config: BrokerConfig, name: str, wanted: Mapping[str, str]) -> None:
    if not name:
        raise Refused(Code.INVALID_REQUEST, "Default group resources are not allowed.")
    for key in wanted:
        if key not in GROUP_SETTINGS:
            raise Refused(Code.INVALID_CONFIG, f"Unknown group config name: {key}")
    tags = [each.strip() for each in wanted.get(RACK_TAGS, "").split(",")]
    if len(set(tags)) < len(tags):
        raise Refused(Code.INVALID_CONFIG, f"{RACK_TAGS} must not contain duplicate tag keys.")
    for key, text in wanted.items():
        typed(GROUP_SETTINGS[key], text)
    for key in GROUP_BOUNDS:
        if key in wanted:
            _check_bounds(config, key, int(wanted[key]))
    _check_assignor(config, wanted)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        values = [config.group_value(each, wanted) for each in (session, heartbeat)]
        if wanted.keys() & {session, heartbeat} and values[0] <= values[1]:  # type: ignore[operator]  # both are whole numbers
            raise Refused(Code.INVALID_CONFIG, f"{session} must be greater than {heartbeat}")
    if wanted.get(DEAD_LETTERS, "").startswith("__"):
        why = f"{DEAD_LETTERS}: DLQ topic name must not start with '__'"
        raise Refused(Code.INVALID_CONFIG, why)


def _check_bounds(config: BrokerConfig, key: str, value: int) -> None:
    least, most = config.group_bounds(key)
    why = None
    if least is not None and most is not None:
        if not least <= value <= most:
            why = f"{key} must be in the range {least} to {most} inclusive."
    elif least is not None and value < least:
        why = f"{key} must be greater than or equal to {least}"
    elif most is not None and value > most:
        why = f"{key} must be less than or equal to {most}"
    if why is not None:
        raise Refused(Code.INVALID_CONFIG, why)


def _check_assignor(config: BrokerConfig, wanted: Mapping[str, str]) -> None:
    given, known = wanted.get(STREAMS_ASSIGNOR), config["group.streams.assignors"]
    name = None if given is None else given.strip()
    if name is not None and name not in known:
        why = f"{STREAMS_ASSIGNOR} '{name}' is not a registered task assignor. "
        why += f"Registered assignors are: [{', '.join(known)}]."
        raise Refused(Code.INVALID_CONFIG, why)


MATCH_CHARACTERS: Final = 8192
"""The longest `match` of a client metrics subscription: a megabyte takes seconds to compile."""
LONG_MATCH_CHARACTERS: Final = 256
"""A longer `match` is compiled in a thread."""


def _check_metrics(name: str, wanted: Mapping[str, str]) -> None:
    """Check a client metrics subscription of KIP-714 (ClientMetricsConfigs.validate)."""
    if not name:
        raise Refused(Code.INVALID_REQUEST, "Subscription name can't be empty")
    for key, text in wanted.items():
        if key not in METRICS_SETTINGS:
            raise Refused(Code.INVALID_REQUEST, f"Unknown client metrics configuration: {key}")
        value = typed(METRICS_SETTINGS[key], text)
        if key == "interval.ms" and value not in METRICS_INTERVAL_MS:
            why = (
                f"Invalid value {value} for interval.ms, interval must be between 100 and 3600000 "
                "(1 hour)"
            )
            raise Refused(Code.INVALID_REQUEST, why)
        if key == "match" and isinstance(value, tuple):
            if len(text) > MATCH_CHARACTERS:
                why = f"match has {len(text)} characters, more than {MATCH_CHARACTERS}"
                raise Refused(Code.INVALID_CONFIG, why)
            illegal = illegal_pattern(value)
            if illegal is not None:
                raise Refused(Code.INVALID_CONFIG, f"Illegal client matching pattern: {illegal}")


async def compile_long_patterns(
    node: Node, resource_type: int, name: str, given: Mapping[str, str | None]
) -> None:
    """Compile the patterns of a client metrics subscription for `check`, in a thread if it is long.

    Args:
        given: the settings in the request, by name; it may leave the present `match` as it is.
    """
    if resource_type != ResourceType.CLIENT_METRICS:
        return
    present = node.catalog.overrides(ResourceType.CLIENT_METRICS, name)
    text = given.get("match", present.get("match"))
    if text is None or not LONG_MATCH_CHARACTERS < len(text) <= MATCH_CHARACTERS:
        return
    with suppress(Refused):  # `check` finds it again
        value = typed(METRICS_SETTINGS["match"], text)
        assert isinstance(value, tuple)
        await node.workers.run(partial(illegal_pattern, value))


# A request compiles a text first and checks it then; a few requests may be between the two.
@lru_cache(maxsize=16)
def illegal_pattern(match: tuple[str, ...]) -> str | None:
    """The first illegal pattern of a client metrics subscription, or None.

    Compiling 8,000 characters takes up to 30 ms.
    """
    return next((each for each in match if not _is_legal(each)), None)


def _is_legal(pattern: str) -> bool:
    what, _, expression = pattern.rstrip("=").partition("=")  # as Java's String.split
    try:
        re.compile(expression)
    except (re.error, RecursionError, OverflowError):  # the latter two for absurd patterns
        return False
    return "=" not in expression and expression != "" and what.strip() in METRICS_MATCHES
