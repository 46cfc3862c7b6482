"""Checks of a broker's settings that concern several settings, or limits of Ottla.

They are the checks of KafkaConfig.validateValues that apply here, and Ottla's own. Each raises
BadSetting with the name of the wrong setting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ...metadata.catalog import MAX_PARTITIONS_PER_REQUEST
from ...protocol.java_integers import number_in
from .broker_settings import SYNONYMS
from .definitions import BadSetting, Value, Wrong
from .internal_topics import INTERNAL_TOPIC_SETTINGS
from .listeners import EVERY_ADDRESS, Listener, check_ports, parse_listeners, parse_protocols
from .topic_settings import TOPIC_SETTINGS
from .voters import SERVERS, VOTERS, read_voters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...security.jaas import LoginModule

# The first setting of each pair must not be above the second.
IN_ORDER = (
    *(
        pair
        for kind in ("consumer", "share", "streams")
        for what in ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
        for pair in (
            (f"group.{kind}.min.{what}", f"group.{kind}.max.{what}"),
            (f"group.{kind}.min.{what}", f"group.{kind}.{what}"),
            (f"group.{kind}.{what}", f"group.{kind}.max.{what}"),
        )
    ),
    *(
        (f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms")
        for kind in ("consumer", "share", "streams")
    ),
    *(
        pair
        for what in (
            "record.lock.duration.ms",
            "delivery.count.limit",
            "partition.max.record.locks",
        )
        for pair in (
            (f"group.share.min.{what}", f"group.share.{what}"),
            (f"group.share.{what}", f"group.share.max.{what}"),
        )
    ),
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    ("group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas"),
    ("group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms"),
    ("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
)

_FOR_CLIENTS = "must include a listener for clients, not only for controllers"
# The size of a key in the cleaner's map: an MD5 and an offset, as in Kafka's SkimpyOffsetMap.
KEY_IN_THE_CLEANER_BYTES = 24


class Settings(Protocol):
    """What the rules use of `BrokerConfig`."""

    @property
    def login_sections(self) -> Mapping[str, Sequence[LoginModule]]:
        """The login modules of the JAAS file, by section."""

    def __getitem__(self, name: str, /) -> Any:  # Any: the type that the setting has in its table
        """The typed value of a setting."""

    def is_given(self, name: str) -> bool:
        """Whether it was given, under one of its names."""

    def text(self, name: str) -> str | None:
        """The value as text."""

    @property
    def node_id(self) -> int: ...
    @property
    def log_dirs(self) -> Sequence[str]: ...
    @property
    def listeners(self) -> Sequence[Listener]: ...
    @property
    def inter_broker_listener(self) -> str: ...

    def advertised(self, ports: Mapping[str, int] | None = None) -> Sequence[Listener]:
        """The advertised listeners."""

    def of_listener(self, listener: str, name: str) -> Value:
        """The value of a setting for one listener."""


def check_together(config: Settings) -> None:
    """Raise BadSetting for the first rule that does not hold.

    A rule is checked only if one of its settings is set: the defaults obey all rules.
    """
    for names, rule in RULES:
        if any(config.is_given(name) for name in names):
            rule(config)
    for lower, upper in IN_ORDER:
        given = [name for name in (lower, upper) if config.is_given(name)]
        if given and config[lower] > config[upper]:
            name = given[0]
            other, relation = (upper, "at most") if name == lower else (lower, "at least")
            raise BadSetting(
                name, config.text(name), f"must be {relation} {other}, which is {config[other]}"
            )


def _ids(config: Settings) -> None:
    if config["node.id"] != config["broker.id"]:
        text = config.text("broker.id")
        raise BadSetting("broker.id", text, f"must be node.id, which is {config['node.id']}")
    if config["node.id"] < 0:
        raise BadSetting("node.id", config.text("node.id"), "must be at least 0")


def _roles(config: Settings) -> None:
    if not config["process.roles"]:
        text = config.text("process.roles")
        raise BadSetting("process.roles", text, "must be broker, controller or both")


def _quorum(config: Settings) -> None:
    """The ids of the voters, as in Kafka (KafkaConfig.validateValues)."""
    try:
        voters = [each.node_id for each in read_voters(config[VOTERS] or ())]
    except ValueError as wrong:
        raise BadSetting(VOTERS, config.text(VOTERS), str(wrong)) from None
    if len(set(voters)) < len(voters):
        raise BadSetting(VOTERS, config.text(VOTERS), "must have each node id once")
    votes = "controller" in config["process.roles"]
    if voters and votes and config.node_id not in voters:
        why = f"must have node.id, which is {config.node_id}, because process.roles has controller"
        raise BadSetting(VOTERS, config.text(VOTERS), why)
    if config.node_id in voters and not votes:
        why = f"must not have node.id, which is {config.node_id}: process.roles is broker alone"
        raise BadSetting(VOTERS, config.text(VOTERS), why)
    if len(config[SERVERS] or ()) > 1 and not voters:
        why = f"must have only one server, unless {VOTERS} says which of several runs the cluster"
        raise BadSetting(SERVERS, config.text(SERVERS), why)


def _directories(config: Settings) -> None:
    name = "log.dir" if config["log.dirs"] is None else "log.dirs"
    if len(config.log_dirs) != 1:
        text = config.text(name)
        raise BadSetting(name, text, "must be one directory: Ottla has only one")


def _cordoned(config: Settings) -> None:
    name, cordoned = "cordoned.log.dirs", config["cordoned.log.dirs"]
    if "*" in cordoned and len(cordoned) > 1:
        raise BadSetting(name, config.text(name), "must have no other value beside *")
    missing = [each for each in cordoned if each not in ("*", *config.log_dirs)]
    if missing:
        why = f"{', '.join(missing)} must be * or the directory of log.dirs"
        raise BadSetting(name, config.text(name), why)


def _retention(config: Settings) -> None:
    _at_least(config, "log.retention.ms", 1, also=-1)


def _roll(config: Settings) -> None:
    _at_least(config, "log.roll.ms", 1)
    _at_least(config, "log.roll.jitter.ms", 0)


def _at_least(config: Settings, name: str, least: int, also: int | None = None) -> None:
    """Check the value of the name that takes precedence; any negative retention means -1."""
    counts = next((n for n, _ in SYNONYMS[name] if config[n] is not None), None)
    if counts is None:
        return
    value = config[counts]
    if value < least and (also is None or value > also):
        unlimited = f", or {also} for no limit" if also is not None else ""
        raise BadSetting(counts, config.text(counts), f"must be at least {least}{unlimited}")


def _listeners(config: Settings) -> None:
    text = config.text("listeners") or ""
    every = parse_listeners("listeners", text)
    if not config.listeners and "broker" in config["process.roles"]:
        raise BadSetting("listeners", text, _FOR_CLIENTS)
    check_ports(text, every)
    _protocols(config)
    _advertised(config, {listener.name for listener in every})


def _protocols(config: Settings) -> None:
    protocols = parse_protocols(config["listener.security.protocol.map"])
    for listener in config.listeners:
        protocol = protocols.get(listener.name)
        if protocol is None:
            raise BadSetting(
                "listeners",
                config.text("listeners"),
                f"listener.security.protocol.map must name the protocol of {listener.name}",
            )


def _logins(config: Settings) -> None:
    protocols = parse_protocols(config["listener.security.protocol.map"])
    names = [each.name for each in config.listeners if protocols[each.name].has_login]
    if names:
        from .sasl import check_listener

        for name in names:
            check_listener(config, name)


def _advertised(config: Settings, names: set[str]) -> None:
    name = "advertised.listeners"
    text = config.text(name)
    if text is None:
        return
    for listener in parse_listeners(name, text):
        if listener.name not in names:
            known = ", ".join(sorted(names))
            raise BadSetting(name, text, f"{listener.name} must be one of listeners: {known}")
        if listener.host in EVERY_ADDRESS[1:]:
            raise BadSetting(name, text, f"{listener.host} must be an address to connect to")
    if not config.advertised() and "broker" in config["process.roles"]:
        raise BadSetting(name, text, _FOR_CLIENTS)


def _between_brokers(config: Settings) -> None:
    name, protocol = "inter.broker.listener.name", "security.inter.broker.protocol"
    if not config.listeners:
        return  # of a controller alone
    wanted, known = config[name], [listener.name for listener in config.advertised()]
    if wanted is None:
        if config.is_given(protocol) and config.inter_broker_listener not in known:
            why = f"must be one of the advertised listeners: {', '.join(known)}"
            raise BadSetting(protocol, config[protocol], why)
        return
    if config.is_given(protocol):
        raise BadSetting(protocol, config[protocol], f"must be left out beside {name}")
    if wanted.upper() not in known:
        raise BadSetting(name, wanted, f"must be one of listeners: {', '.join(known)}")


def _identification(config: Settings) -> None:
    name = "ssl.endpoint.identification.algorithm"
    if config[name] and config[name].lower() != "https":
        raise BadSetting(name, config[name], "must be https, or empty")


def _early(config: Settings) -> None:
    name = "early.start.listeners"
    every = parse_listeners("listeners", config.text("listeners") or "")
    known = [each.name for each in every]
    known += config["controller.listener.names"] or ()
    for listener in config[name] or ():
        if listener.upper() not in known:
            raise BadSetting(name, config.text(name), f"{listener} must be one of listeners")


def _connections(config: Settings) -> None:
    name = "queued.max.request.bytes"
    if 0 < config[name] < config["socket.request.max.bytes"]:
        raise BadSetting(
            name, config.text(name), "must be at least socket.request.max.bytes, or -1"
        )
    name = "max.connections.per.ip.overrides"
    overrides = config[name]
    for entry in filter(None, overrides.split(",")):
        host, _, text = entry.strip().rpartition(":")
        # A negative number refuses all connections of the host, as in Kafka.
        if not host or " " in host or number_in(text) is None:
            raise BadSetting(name, overrides, f"{entry!r} must be HOST:NUMBER")
    name = "max.connections.per.ip"
    if config[name] == 0 and not overrides:
        raise BadSetting(name, "0", "must be at least 1, or max.connections.per.ip.overrides set")
    name, delay = "connections.max.idle.ms", "connection.failed.authentication.delay.ms"
    if 0 <= config[name] <= config[delay]:
        raise BadSetting(name, config.text(name), f"must be above {delay}, or -1")


def _protocols_of_groups(config: Settings) -> None:
    name = "group.coordinator.rebalance.protocols"
    if "classic" not in config[name]:
        raise BadSetting(name, config.text(name), "must include classic")


def _assignors_of_groups(config: Settings) -> None:
    from ...coordinator.consumer.assignors import NAMES

    name = "group.consumer.assignors"
    if not config[name] or not NAMES.keys() >= set(config[name]):
        raise BadSetting(
            name, config.text(name), "must be uniform, range or both: Ottla has no others"
        )


def _authorizer(config: Settings) -> None:
    from .authorizers import check_settings

    check_settings(config["authorizer.class.name"], config.text("super.users") or "")


def _cleaner(config: Settings) -> None:
    name = "log.cleaner.io.max.bytes.per.second"
    if config[name] <= 0:
        raise BadSetting(name, config.text(name), "must be above 0")
    name = "log.cleaner.io.buffer.load.factor"
    if config[name] <= 0:
        raise BadSetting(name, config.text(name), "must be above 0")
    name, threads = "log.cleaner.dedupe.buffer.size", max(config["log.cleaner.threads"], 1)
    entries = config[name] // threads // KEY_IN_THE_CLEANER_BYTES
    if entries * config["log.cleaner.io.buffer.load.factor"] <= 1:
        why = "must leave each of log.cleaner.threads room for a key"
        raise BadSetting(name, config.text(name), why)


def _new_topics(config: Settings) -> None:
    """What every automatic creation of a topic would refuse, without an answer that says why."""
    of_topics = TOPIC_SETTINGS["segment.bytes"]
    for name in _SEGMENT_BYTES:
        try:
            of_topics.parse(str(config[name]))
        except Wrong:
            raise BadSetting(name, config.text(name), of_topics.allowed()) from None
    for name in _PARTITIONS:
        if config[name] > MAX_PARTITIONS_PER_REQUEST:
            why = f"must be at most {MAX_PARTITIONS_PER_REQUEST}, the most of a new topic"
            raise BadSetting(name, config.text(name), why)


_SEGMENT_BYTES = tuple(each.segment_bytes for each in INTERNAL_TOPIC_SETTINGS.values())
_PARTITIONS = (
    "num.partitions",
    *(each.partitions for each in INTERNAL_TOPIC_SETTINGS.values()),
)
RULES: tuple[tuple[tuple[str, ...], Callable[[Settings], None]], ...] = (
    (("node.id", "broker.id"), _ids),
    (("process.roles",), _roles),
    (
        (
            *("controller.quorum.bootstrap.servers", "controller.quorum.voters"),
            *("node.id", "process.roles"),
        ),
        _quorum,
    ),
    (("log.dirs", "log.dir"), _directories),
    (("cordoned.log.dirs",), _cordoned),
    (tuple(name for name, _ in SYNONYMS["log.retention.ms"]), _retention),
    (("log.roll.ms", "log.roll.jitter.ms"), _roll),
    (
        (
            "listeners",
            "advertised.listeners",
            "listener.security.protocol.map",
            "controller.listener.names",
        ),
        _listeners,
    ),
    (("listeners",), _logins),
    (
        ("inter.broker.listener.name", "security.inter.broker.protocol", "listeners"),
        _between_brokers,
    ),
    (("early.start.listeners",), _early),
    (("ssl.endpoint.identification.algorithm",), _identification),
    (
        (
            "queued.max.request.bytes",
            "socket.request.max.bytes",
            "max.connections.per.ip",
            "max.connections.per.ip.overrides",
            "connections.max.idle.ms",
            "connection.failed.authentication.delay.ms",
        ),
        _connections,
    ),
    (("group.coordinator.rebalance.protocols",), _protocols_of_groups),
    (("group.consumer.assignors",), _assignors_of_groups),
    (
        (
            "log.cleaner.dedupe.buffer.size",
            "log.cleaner.io.buffer.load.factor",
            "log.cleaner.io.max.bytes.per.second",
            "log.cleaner.threads",
        ),
        _cleaner,
    ),
    (("authorizer.class.name", "super.users"), _authorizer),
    ((*_SEGMENT_BYTES, *_PARTITIONS), _new_topics),
)
