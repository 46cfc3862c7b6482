"""Kafka 4.4's settings of topics, groups and client-metrics subscriptions, as text tables.

The columns are name, type, default, check and support (support.py); `definitions.Table` reads
them. The default of a topic or group setting holds only if the broker setting in `BROKER_NAMES` or
`GROUP_BROKER_NAMES` does not give one.
"""

from __future__ import annotations

from .definitions import Table

# The broker setting that gives the default of a topic setting (ServerTopicConfigSynonyms).
BROKER_NAMES = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.decompressed.message.bytes": "max.decompressed.message.bytes",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "remote.copy.lag.bytes": "log.remote.copy.lag.bytes",
    "remote.copy.lag.ms": "log.remote.copy.lag.ms",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}

TOPIC_SETTINGS = Table("""
cleanup.policy list delete each:compact|delete works
compression.gzip.level int -1 1..9|-1 works
compression.lz4.level int 9 1..17 works
compression.type string producer one:uncompressed|zstd|lz4|snappy|gzip|producer works
compression.zstd.level int 3 -131072..22 works
delete.retention.ms long 86400000 0.. works
errors.deadletterqueue.group.enable boolean false - works
file.delete.delay.ms long 60000 0.. works
flush.messages long 9223372036854775807 1.. works
flush.ms long 9223372036854775807 0.. works
follower.replication.throttled.replicas list "" throttled harmless
index.interval.bytes int 4096 0.. works
internal.segment.bytes int null - internal works
leader.replication.throttled.replicas list "" throttled harmless
local.retention.bytes long -2 -2.. harmless
local.retention.ms long -2 -2.. harmless
max.compaction.lag.ms long 9223372036854775807 1.. works
max.decompressed.message.bytes int 2147483639 1..2147483639 works
max.message.bytes int 1048588 0.. works
message.timestamp.after.max.ms long 3600000 0.. works
message.timestamp.before.max.ms long 9223372036854775807 0.. works
message.timestamp.type string CreateTime one:CreateTime|LogAppendTime works
min.cleanable.dirty.ratio double 0.5 0..1 works
min.compaction.lag.ms long 0 0.. works
min.insync.replicas int 1 1.. works
preallocate boolean false - works
remote.copy.lag.bytes long -1 -1.. harmless
remote.copy.lag.ms long 0 -1.. harmless
remote.log.copy.disable boolean false - harmless
remote.log.delete.on.disable boolean false - harmless
remote.storage.enable boolean false - refused
retention.bytes long -1 - works
retention.ms long 604800000 -1.. works
segment.bytes int 1073741824 1048576.. works
segment.index.bytes int 10485760 4.. works
segment.jitter.ms long 0 0.. works
segment.ms long 604800000 1.. works
unclean.leader.election.enable boolean false - works
""")

# The broker setting that gives the default of a group setting (GroupConfig.brokerSynonym).
GROUP_BROKER_NAMES = {
    **{
        name: f"group.{name}"
        for name in (
            "consumer.assignment.interval.ms",
            "consumer.assignor.offload.enable",
            "consumer.heartbeat.interval.ms",
            "consumer.session.timeout.ms",
            "share.assignment.interval.ms",
            "share.assignor.offload.enable",
            "share.delivery.count.limit",
            "share.heartbeat.interval.ms",
            "share.partition.max.record.locks",
            "share.record.lock.duration.ms",
            "share.session.timeout.ms",
            "streams.acceptable.recovery.lag",
            "streams.assignment.interval.ms",
            "streams.assignor.offload.enable",
            "streams.heartbeat.interval.ms",
            "streams.initial.rebalance.delay.ms",
            "streams.num.standby.replicas",
            "streams.num.warmup.replicas",
            "streams.rack.aware.assignment.tags",
            "streams.session.timeout.ms",
            "streams.task.offset.interval.ms",
        )
    },
    "streams.assignor.name": "group.streams.assignors",
}

# The bounds that the broker's settings give a group setting (GroupConfig.validateValues).
GROUP_BOUNDS: dict[str, tuple[str | None, str | None]] = {
    **{
        f"{kind}.{what}": (f"group.{kind}.min.{what}", f"group.{kind}.max.{what}")
        for kind in ("consumer", "share", "streams")
        for what in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
    },
    **{
        f"share.{what}": (f"group.share.min.{what}", f"group.share.max.{what}")
        for what in (
            "record.lock.duration.ms",
            "delivery.count.limit",
            "partition.max.record.locks",
        )
    },
    "streams.num.standby.replicas": (None, "group.streams.max.standby.replicas"),
    "streams.num.warmup.replicas": (None, "group.streams.max.warmup.replicas"),
    "streams.task.offset.interval.ms": ("group.streams.min.task.offset.interval.ms", None),
}

GROUP_SETTINGS = Table("""
consumer.assignment.interval.ms int 1000 0.. works
consumer.assignor.offload.enable boolean true - internal harmless
consumer.heartbeat.interval.ms int 5000 1.. works
consumer.session.timeout.ms int 45000 1.. works
errors.deadletterqueue.copy.record.enable boolean false - works
errors.deadletterqueue.topic.name string "" - works
share.assignment.interval.ms int 1000 0.. works
share.assignor.offload.enable boolean true - internal harmless
share.auto.offset.reset string latest reset works
share.delivery.count.limit int 5 2.. works
share.heartbeat.interval.ms int 5000 1.. works
share.isolation.level string read_uncommitted one:read_committed|read_uncommitted works
share.partition.max.record.locks int 2000 100.. works
share.record.lock.duration.ms int 30000 1000.. works
share.renew.acknowledge.enable boolean true - works
share.session.timeout.ms int 45000 1.. works
streams.acceptable.recovery.lag long 10000 0.. internal works
streams.assignment.interval.ms int 1000 0.. works
streams.assignor.name string null - works
streams.assignor.offload.enable boolean true - internal harmless
streams.heartbeat.interval.ms int 5000 1.. works
streams.initial.rebalance.delay.ms int 3000 0.. works
streams.num.standby.replicas int 0 0.. works
streams.num.warmup.replicas int 2 0.. internal works
streams.rack.aware.assignment.tags list "" - works
streams.session.timeout.ms int 45000 1.. works
streams.task.offset.interval.ms int 60000 1.. internal works
""")

METRICS_SETTINGS = Table("""
interval.ms int 300000 - harmless
match list "" - harmless
metrics list "" - harmless
""")
