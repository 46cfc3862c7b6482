"""Scenes of requests about settings; `admin_requests` plays them, and has what Kafka answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.broker.handlers.topic_requests import Step, create, delete

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT, NONE = range(5)

Value = str | None


def described(
    *resources: tuple[int, str, Sequence[str] | None],
    version: int = 4,
    synonyms: bool = True,
    documentation: bool = False,
) -> Step:
    """DescribeConfigs of resources: type, name and keys."""
    body: dict[str, Any] = {
        "resources": [
            {
                "resource_type": kind,
                "resource_name": name,
                "configuration_keys": None if keys is None else list(keys),
            }
            for kind, name, keys in resources
        ],
        "include_synonyms": synonyms,
    }
    if version >= 3:
        body["include_documentation"] = documentation
    return Step("DescribeConfigs", version, body)


def changed(
    kind: int,
    name: str,
    *changes: tuple[str, int, Value],
    version: int = 1,
    dry: bool = False,
    times: int = 1,
) -> Step:
    """IncrementalAlterConfigs of one resource."""
    configs = [
        {"name": key, "config_operation": operation, "value": value}
        for key, operation, value in changes
    ]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    body = {"resources": [resource] * times, "validate_only": dry}
    return Step("IncrementalAlterConfigs", version, body)


def together(*steps: Step) -> Step:
    """The resources of several IncrementalAlterConfigs in one."""
    resources = [each for step in steps for each in step.body["resources"]]
    return Step("IncrementalAlterConfigs", 1, {"resources": resources, "validate_only": False})


def replaced(
    kind: int, name: str, settings: Mapping[str, Value], *, version: int = 2, dry: bool = False
) -> Step:
    """AlterConfigs of one resource."""
    configs = [{"name": key, "value": value} for key, value in settings.items()]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    return Step("AlterConfigs", version, {"resources": [resource], "validate_only": dry})


def each_set(kind: int, name: str, values: Mapping[str, Sequence[str]]) -> list[Step]:
    """Each value by itself, tried and not kept."""
    return [
        changed(kind, name, (key, SET, value), dry=True)
        for key, tried in values.items()
        for value in tried
    ]


TOPIC_VALUES: Final = {
    "cleanup.policy": ("compact", "delete,compact", "compact,compact", "", "none"),
    "compression.type": ("gzip", "producer", "uncompressed", "none", "GZIP", ""),
    "compression.gzip.level": ("-1", "1", "9", "0", "10", "x"),
    "compression.lz4.level": ("1", "17", "0", "18"),
    "compression.zstd.level": ("-131072", "22", "23", "-131073"),
    "delete.retention.ms": ("0", "-1", "", " 5 ", "1.5"),
    "file.delete.delay.ms": ("0", "-1"),
    "flush.messages": ("1", "0"),
    "flush.ms": ("0", "-1"),
    "follower.replication.throttled.replicas": ("*", "none", "", "0:1", "0:1,1:1", "0-1", "*,0:1"),
    "index.interval.bytes": ("0", "-1", "2147483647", "2147483648"),
    "leader.replication.throttled.replicas": ("*", "x"),
    "local.retention.bytes": ("-2", "-1", "0", "-3"),
    "local.retention.ms": ("-2", "-1", "0", "-3"),
    "max.compaction.lag.ms": ("1", "0", "9223372036854775808"),
    "max.message.bytes": ("0", "-1", "2147483647"),
    "message.timestamp.after.max.ms": ("0", "-1"),
    "message.timestamp.before.max.ms": ("0", "-1"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime", "createtime", ""),
    "min.cleanable.dirty.ratio": ("0", "1", "0.5", "1.1", "-0.1", "x", "1e-1"),
    "min.compaction.lag.ms": ("0", "-1"),
    "min.insync.replicas": ("1", "0", "2"),
    "preallocate": ("true", "TRUE", "yes", ""),
    "remote.log.copy.disable": ("true", "x"),
    "remote.log.delete.on.disable": ("true",),
    "remote.storage.enable": ("true", "false"),
    "retention.bytes": ("-1", "-2", "0"),
    "retention.ms": ("-1", "-2", "0", "9223372036854775807", "0x10"),
    "segment.bytes": ("1048576", "1048575", "14"),
    "internal.segment.bytes": ("1", "14"),
    "segment.index.bytes": ("4", "3"),
    "segment.jitter.ms": ("0", "-1"),
    "segment.ms": ("1", "0"),
    "unclean.leader.election.enable": ("true", "false", "1"),
    "message.format.version": ("3.0",),
    "message.downconversion.enable": ("true",),
    "message.timestamp.difference.max.ms": ("5",),
    "nonsense": ("1",),
    "": ("1",),
    "Retention.ms": ("1",),
}  # fmt: skip

BROKER_VALUES: Final = {
    "background.threads": ("5", "10", "20", "21", "4", "0", "x"),
    "compression.type": ("gzip", "none"),
    "log.cleaner.backoff.ms": ("0", "-1"),
    "log.cleaner.dedupe.buffer.size": ("134217728", "1048576", "1048575", "1"),
    "log.cleaner.delete.retention.ms": ("0", "-1"),
    "log.cleaner.io.buffer.load.factor": ("0.9", "x"),
    "log.cleaner.io.buffer.size": ("0", "-1"),
    "log.cleaner.io.max.bytes.per.second": ("1", "x"),
    "log.cleaner.max.compaction.lag.ms": ("1", "0"),
    "log.cleaner.min.cleanable.ratio": ("0", "1", "1.1"),
    "log.cleaner.min.compaction.lag.ms": ("0", "-1"),
    "log.cleaner.threads": ("1", "2", "3"),
    "log.cleanup.policy": ("compact", "x"),
    "log.flush.interval.messages": ("1", "0"),
    "log.flush.interval.ms": ("1", "-1"),
    "log.index.interval.bytes": ("0", "-1"),
    "log.index.size.max.bytes": ("4", "3"),
    "log.message.timestamp.after.max.ms": ("0", "-1"),
    "log.message.timestamp.type": ("LogAppendTime", "x"),
    "log.preallocate": ("true", "x"),
    "log.retention.bytes": ("-1", "x"),
    "log.retention.ms": ("-1", "1", "0", "-2", "x"),
    "log.roll.ms": ("1", "0"),
    "log.roll.jitter.ms": ("0", "-1"),
    "log.segment.bytes": ("1048576", "1048575"),
    "log.segment.delete.delay.ms": ("0", "-1"),
    "max.connection.creation.rate": ("0", "-1"),
    "max.connections": ("0", "-1", "1000000"),
    "max.connections.per.ip": ("0", "-1", "1000"),
    "max.connections.per.ip.overrides": ("127.0.0.1:1000", ""),
    "message.max.bytes": ("0", "-1", "1000000"),
    "min.insync.replicas": ("1", "0"),
    "num.io.threads": ("8", "16", "17", "3"),
    "num.network.threads": ("3", "6", "7", "1"),
    "num.replica.fetchers": ("1", "2", "3"),
    "num.recovery.threads.per.data.dir": ("2", "4", "5", "1", "0"),
    "producer.id.expiration.ms": ("1", "0"),
    "remote.fetch.max.wait.ms": ("1", "0"),
    "transaction.partition.verification.enable": ("false", "x"),
    "unclean.leader.election.enable": ("true", "x"),
    "follower.replication.throttled.rate": ("0", "-1"),
    "leader.replication.throttled.rate": ("0", "x"),
    "metric.reporters": ("",),
    "node.id": ("1", "2"),
    "log.dirs": ("/elsewhere",),
    "num.partitions": ("3",),
    "group.max.size": ("5",),
    "auto.create.topics.enable": ("false",),
    "default.replication.factor": ("1",),
    "log.retention.hours": ("1",),
    "log.retention.minutes": ("1",),
    "offsets.retention.minutes": ("1",),
    "transaction.max.timeout.ms": ("1",),
    "ssl.keystore.location": ("/elsewhere",),
    "listener.name.plaintext.max.connections": ("5", "-1"),
    "listener.name.plaintext.ssl.keystore.type": ("JKS",),
    "listener.name.nobody.max.connections": ("5",),
    "nonsense": ("1",),
    "super.users": ("User:me",),
}  # fmt: skip

GROUP_VALUES: Final = {
    "consumer.session.timeout.ms": ("45000", "60000", "44999", "60001", "0", "x", ""),
    "consumer.heartbeat.interval.ms": ("5000", "15000", "4999", "15001"),
    "share.session.timeout.ms": ("45000", "60000", "44999", "60001"),
    "share.heartbeat.interval.ms": ("5000", "15000", "4999", "15001"),
    "share.record.lock.duration.ms": ("15000", "60000", "14999", "60001"),
    "share.auto.offset.reset": ("latest", "earliest", "by_duration:PT1H", "none", "by_duration:x"),
    "share.isolation.level": ("read_committed", "read_uncommitted", "x"),
    "streams.session.timeout.ms": ("45000", "60001"),
    "streams.heartbeat.interval.ms": ("5000", "15001"),
    "streams.num.standby.replicas": ("0", "2", "3", "-1"),
    "nonsense": ("1",),
}

METRICS_VALUES: Final = {
    "interval.ms": ("100", "3600000", "99", "3600001", "0", "-1", "x", ""),
    "metrics": ("", "*", "org.apache.kafka.", "a,b"),
    "match": (
        "", "client_id=a", "client_id=a,client_software_name=b.*", "nonsense=a", "client_id",
        "client_id=[", "client_source_port=1,client_source_address=1.1.1.1", "client_id=a=b",
    ),
    "nonsense": ("1",),
}  # fmt: skip

CONFIG_SCENES: Final[dict[str, list[Step]]] = {
    "settings described": [
        create("told"),
        changed(TOPIC, "told", ("retention.ms", SET, "777")),
        *(
            described(
                (TOPIC, "told", ["retention.ms", "cleanup.policy", "nonsense"]),
                (BROKER, "1", ["log.retention.ms", "num.partitions", "ssl.key.password", "x"]),
                version=version,
                synonyms=synonyms,
                documentation=documentation,
            )
            for version in range(1, 5)
            for synonyms in (True, False)
            for documentation in ((True, False) if version >= 3 else (False,))
        ),
        described((TOPIC, "told", [])),
        described((BROKER, "", None)),
        described((BROKER, "", ["min.insync.replicas", "x"])),
        described((GROUP, "g", ["consumer.session.timeout.ms", "x"]), documentation=True),
        described((GROUP, "", None)),
        described((METRICS, "m", None), documentation=True),
        described((METRICS, "", None)),
        described((LOGGER, "1", ["root"])),
        *(
            described((kind, name, ["x"]))
            for kind, names in (
                (TOPIC, ("", "nobody", "..", "a b")),
                (BROKER, ("2", "x", "-1", "01", " 1")),
                (LOGGER, ("", "2", "x")),
                (0, ("x",)),
                (1, ("x",)),
                (3, ("x",)),
                (64, ("x",)),
                (-1, ("x",)),
            )
            for name in names
        ),
        described((TOPIC, "told", ["retention.ms"]), (TOPIC, "told", ["retention.ms"])),
        described((TOPIC, "told", ["retention.ms"]), (3, "x", None), (TOPIC, "nobody", None)),
        described((TOPIC, "nobody", None), (TOPIC, "told", ["retention.ms"])),
        described(),
        delete("told"),
    ],
    "settings of topics tried": [
        create("tried"),
        *each_set(TOPIC, "tried", TOPIC_VALUES),
        delete("tried"),
    ],
    "settings of topics changed": [
        create("changed"),
        changed(TOPIC, "changed", ("retention.ms", SET, "5"), version=0),
        changed(TOPIC, "changed", ("retention.ms", SET, "6"), ("segment.ms", SET, "7"), dry=True),
        described((TOPIC, "changed", ["retention.ms", "segment.ms"])),
        changed(TOPIC, "changed", ("cleanup.policy", APPEND, "compact")),
        described((TOPIC, "changed", ["cleanup.policy"])),
        changed(TOPIC, "changed", ("cleanup.policy", SUBTRACT, "delete")),
        described((TOPIC, "changed", ["cleanup.policy"])),
        changed(TOPIC, "changed", ("cleanup.policy", SUBTRACT, "compact")),
        described((TOPIC, "changed", ["cleanup.policy"])),
        changed(TOPIC, "changed", ("cleanup.policy", APPEND, "compact,delete,compact")),
        described((TOPIC, "changed", ["cleanup.policy"])),
        changed(TOPIC, "changed", ("retention.ms", APPEND, "5")),
        changed(TOPIC, "changed", ("retention.ms", SUBTRACT, "5")),
        changed(TOPIC, "changed", ("nonsense", APPEND, "5")),
        changed(TOPIC, "changed", ("cleanup.policy", APPEND, None)),
        changed(TOPIC, "changed", ("cleanup.policy", APPEND, "nonsense")),
        changed(TOPIC, "changed", ("retention.ms", DELETE, None), ("segment.ms", SET, "7")),
        described((TOPIC, "changed", ["retention.ms", "segment.ms"])),
        changed(TOPIC, "changed", ("segment.ms", DELETE, "ignored")),
        changed(TOPIC, "changed", ("nonsense", DELETE, None)),
        changed(TOPIC, "changed", ("segment.ms", DELETE, None)),
        changed(TOPIC, "changed", ("retention.ms", SET, None)),
        changed(TOPIC, "changed", ("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
        changed(TOPIC, "changed", ("retention.ms", SET, "1"), ("segment.ms", SET, "x")),
        changed(TOPIC, "changed", ("retention.ms", SET, "1"), times=2),
        changed(TOPIC, "changed"),
        changed(TOPIC, "changed", dry=True),
        changed(
            TOPIC,
            "changed",
            ("min.compaction.lag.ms", SET, "9"),
            ("max.compaction.lag.ms", SET, "8"),
        ),
        changed(TOPIC, "changed", ("max.compaction.lag.ms", SET, "8")),
        changed(TOPIC, "changed", ("min.compaction.lag.ms", SET, "9")),
        described((TOPIC, "changed", ["retention.ms", "segment.ms", "max.compaction.lag.ms"])),
        *(changed(TOPIC, name, ("retention.ms", SET, "1")) for name in ("", "nobody", "..", "a b")),
        *(changed(TOPIC, name, ("nonsense", SET, "1")) for name in ("", "nobody", "..")),
        *(changed(kind, "x", ("retention.ms", SET, "1")) for kind in (0, 1, 3, 64, -1)),
        Step("IncrementalAlterConfigs", 1, {"resources": [], "validate_only": False}),
        delete("changed"),
    ],
    "settings replaced": [
        create("replaced"),
        replaced(TOPIC, "replaced", {"retention.ms": "5", "segment.ms": "6"}, version=0),
        replaced(TOPIC, "replaced", {"retention.ms": "7"}, version=1),
        described((TOPIC, "replaced", ["retention.ms", "segment.ms"])),
        replaced(TOPIC, "replaced", {}, dry=True),
        described((TOPIC, "replaced", ["retention.ms"])),
        replaced(TOPIC, "replaced", {}),
        described((TOPIC, "replaced", ["retention.ms"])),
        replaced(TOPIC, "replaced", {"retention.ms": None}),
        replaced(TOPIC, "replaced", {"retention.ms": "x"}),
        replaced(TOPIC, "replaced", {"nonsense": "x"}),
        *(replaced(TOPIC, name, {"retention.ms": "5"}) for name in ("", "nobody", "..")),
        *(replaced(kind, "x", {"retention.ms": "5"}) for kind in (0, 1, 3, 8, 64)),
        replaced(LOGGER, "1", {"root": "INFO"}),
        replaced(GROUP, "g", {"consumer.session.timeout.ms": "50000"}),
        described((GROUP, "g", ["consumer.session.timeout.ms"])),
        replaced(GROUP, "g", {}),
        replaced(GROUP, "", {}),
        replaced(METRICS, "m", {"interval.ms": "5000"}),
        described((METRICS, "m", None)),
        replaced(METRICS, "m", {}),
        replaced(METRICS, "", {}),
        replaced(BROKER, "1", {"log.retention.ms": "5"}),
        replaced(BROKER, "1", {"log.cleaner.backoff.ms": "5"}),
        described((BROKER, "1", ["log.retention.ms", "log.cleaner.backoff.ms"])),
        replaced(BROKER, "1", {"node.id": "5"}),
        replaced(BROKER, "2", {"log.retention.ms": "5"}),
        replaced(BROKER, "1", {}),
        described((BROKER, "1", ["log.retention.ms", "log.cleaner.backoff.ms"])),
        delete("replaced"),
    ],
    "settings of brokers tried": [
        *each_set(BROKER, "1", BROKER_VALUES),
        *each_set(BROKER, "", BROKER_VALUES),
    ],
    "settings of brokers changed": [
        changed(BROKER, "1", ("log.retention.ms", SET, "5")),
        described((BROKER, "1", ["log.retention.ms", "log.retention.hours"])),
        changed(BROKER, "", ("log.retention.ms", SET, "6"), ("log.cleaner.backoff.ms", SET, "7")),
        described((BROKER, "1", ["log.retention.ms", "log.cleaner.backoff.ms"])),
        described((BROKER, "", None)),
        changed(BROKER, "1", ("log.retention.ms", DELETE, None)),
        described((BROKER, "1", ["log.retention.ms"])),
        changed(BROKER, "1", ("log.retention.ms", DELETE, None)),
        changed(BROKER, "1", ("log.cleanup.policy", APPEND, "compact")),
        described((BROKER, "1", ["log.cleanup.policy"])),
        changed(BROKER, "1", ("log.cleanup.policy", SUBTRACT, "compact,delete")),
        changed(BROKER, "1", ("log.cleanup.policy", SUBTRACT, "delete")),
        described((BROKER, "1", ["log.cleanup.policy"])),
        changed(BROKER, "1", ("log.retention.ms", APPEND, "5")),
        changed(BROKER, "1", ("nonsense", SET, "5")),
        described((BROKER, "1", ["nonsense"])),
        changed(BROKER, "1", ("nonsense", DELETE, None), ("log.cleanup.policy", DELETE, None)),
        changed(BROKER, "1", ("node.id", DELETE, None)),
        changed(BROKER, "1", ("num.partitions", DELETE, None)),
        changed(BROKER, "1", ("min.insync.replicas", SET, "1")),
        changed(BROKER, "", ("min.insync.replicas", DELETE, None)),
        changed(BROKER, "", ("min.insync.replicas", SET, "2")),
        described((BROKER, "1", ["min.insync.replicas"])),
        changed(BROKER, "", ("min.insync.replicas", SET, "1")),
        changed(BROKER, "", ("log.retention.ms", DELETE, None)),
        changed(BROKER, "", ("log.cleaner.backoff.ms", DELETE, None)),
        changed(BROKER, "1", ("max.connections.per.ip.overrides", SET, "10.0.0.1:5")),
        described((BROKER, "1", ["max.connections.per.ip.overrides"])),
        changed(BROKER, "1", ("max.connections.per.ip.overrides", DELETE, None)),
        changed(BROKER, "1", ("log.retention.ms", SET, "5"), ("node.id", SET, "7")),
        changed(BROKER, "1", ("log.retention.ms", SET, "5"), times=2),
        *(changed(BROKER, name, ("log.retention.ms", SET, "5")) for name in ("2", "x", "-1", " 1")),
        described((BROKER, "", None)),
    ],
    "settings of groups": [
        *each_set(GROUP, "g", GROUP_VALUES),
        *each_set(GROUP, "", {"consumer.session.timeout.ms": ("50000",)}),
        changed(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
        changed(GROUP, "g", ("consumer.heartbeat.interval.ms", SET, "6000")),
        described((GROUP, "g", None)),
        changed(GROUP, "g", ("consumer.session.timeout.ms", DELETE, None)),
        changed(GROUP, "g", ("share.isolation.level", APPEND, "x")),
        described((GROUP, "g", ["consumer.session.timeout.ms"])),
        changed(GROUP, "g", ("consumer.heartbeat.interval.ms", DELETE, None)),
    ],
    "settings of subscriptions": [
        *each_set(METRICS, "m", METRICS_VALUES),
        *each_set(METRICS, "", {"interval.ms": ("5000",)}),
        changed(METRICS, "m", ("interval.ms", SET, "5000"), ("match", SET, "client_id=a")),
        changed(METRICS, "m", ("metrics", APPEND, "a,b")),
        described((METRICS, "m", None)),
        changed(METRICS, "m", ("metrics", SUBTRACT, "a")),
        changed(METRICS, "m", ("interval.ms", APPEND, "5")),
        described((METRICS, "m", ["metrics"])),
        changed(
            METRICS,
            "m",
            ("interval.ms", DELETE, None),
            ("match", DELETE, None),
            ("metrics", DELETE, None),
        ),
        described((METRICS, "m", None)),
    ],
    "levels of loggers": [
        changed(LOGGER, "1", ("root", SET, "WARN")),
        described((LOGGER, "1", ["root"])),
        changed(LOGGER, "1", ("root", SET, "INFO"), version=0),
        *(changed(LOGGER, "1", ("root", SET, level)) for level in ("LOUD", "warn", "", "TRACE")),
        changed(LOGGER, "1", ("root", DELETE, None)),
        changed(LOGGER, "1", ("root", APPEND, "INFO")),
        changed(LOGGER, "1", ("root", SUBTRACT, "INFO")),
        changed(LOGGER, "1", ("nonsense", SET, "INFO")),
        changed(LOGGER, "1", ("nonsense", DELETE, None)),
        changed(LOGGER, "1", ("root", SET, "DEBUG"), dry=True),
        described((LOGGER, "1", ["root"])),
        changed(LOGGER, "1", ("root", SET, "INFO"), ("nonsense", SET, "INFO")),
        changed(LOGGER, "1", ("root", SET, "INFO")),
        *(changed(LOGGER, name, ("root", SET, "INFO")) for name in ("", "2", "x")),
    ],
    "listeners of all brokers": [
        changed(BROKER, "", ("listeners", SET, "PLAINTEXT://:1"), dry=dry) for dry in (True, False)
    ],
    "operations that are none": [
        *(changed(TOPIC, "one", ("retention.ms", number, "1000")) for number in (NONE, -1, 127)),
        changed(TOPIC, "one", ("retention.ms", NONE, "1000"), dry=True),
        changed(TOPIC, "one", ("retention.ms", NONE, None)),
        changed(TOPIC, "one", ("nonsense", NONE, "1000"), ("retention.ms", SET, "1000")),
        changed(TOPIC, "nobody", ("retention.ms", NONE, "1000")),
        changed(TOPIC, "one", ("retention.ms", NONE, "1000"), times=2),
        changed(METRICS, "m", ("interval.ms", NONE, "1000")),
        changed(GROUP, "g", ("consumer.session.timeout.ms", NONE, "50000")),
        *(changed(LOGGER, "1", (name, NONE, "INFO")) for name in ("root", "nonsense")),
        changed(LOGGER, "2", ("root", NONE, "INFO")),
        *(changed(BROKER, name, ("log.cleaner.threads", NONE, "1")) for name in ("", "1", "2")),
        together(
            changed(TOPIC, "one", ("retention.ms", NONE, "1000")),
            changed(TOPIC, "two", ("retention.ms", SET, "1000")),
            changed(BROKER, "1", ("background.threads", SET, "9")),
            changed(BROKER, "", ("background.threads", SET, "x")),
            changed(LOGGER, "1", ("root", SET, "INFO")),
            changed(GROUP, "g", ("nonsense", SET, "1")),
            changed(99, "g", ("nonsense", SET, "1")),
            changed(METRICS, "m", ("interval.ms", SET, None)),
        ),
        together(
            changed(LOGGER, "1", ("root", NONE, "INFO")),
            changed(BROKER, "1", ("background.threads", NONE, "9")),
            changed(TOPIC, "one", ("retention.ms", NONE, None)),
            changed(TOPIC, "two", ("retention.ms", SET, "1000")),
        ),
        described((TOPIC, "one", ["retention.ms"]), (TOPIC, "two", ["retention.ms"])),
        described((BROKER, "1", ["background.threads"])),
        changed(TOPIC, "two", ("retention.ms", DELETE, None)),
    ],
}
