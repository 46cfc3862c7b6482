"""Kafka 4.1's settings of topics, groups and client-metrics subscriptions, as text.

Name, type, default, check; read by `settings.Table`. The default of a topic's setting is only
Kafka's last resort: what a broker has set under `BROKER_NAMES` comes first.
"""

from __future__ import annotations

from .settings import Table

# The broker's setting that is a topic's default (ServerTopicConfigSynonyms), where there is one.
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
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}

TOPIC_SETTINGS = Table("""
cleanup.policy list delete each:compact|delete
compression.gzip.level int -1 1..9|-1
compression.lz4.level int 9 1..17
compression.type string producer one:uncompressed|zstd|lz4|snappy|gzip|producer
compression.zstd.level int 3 -131072..22
delete.retention.ms long 86400000 0..
file.delete.delay.ms long 60000 0..
flush.messages long 9223372036854775807 1..
flush.ms long 9223372036854775807 0..
follower.replication.throttled.replicas list "" throttled
index.interval.bytes int 4096 0..
internal.segment.bytes int null - internal
leader.replication.throttled.replicas list "" throttled
local.retention.bytes long -2 -2..
local.retention.ms long -2 -2..
max.compaction.lag.ms long 9223372036854775807 1..
max.message.bytes int 1048588 0..
message.timestamp.after.max.ms long 3600000 0..
message.timestamp.before.max.ms long 9223372036854775807 0..
message.timestamp.type string CreateTime one:CreateTime|LogAppendTime
min.cleanable.dirty.ratio double 0.5 0..1
min.compaction.lag.ms long 0 0..
min.insync.replicas int 1 1..
preallocate boolean false -
remote.log.copy.disable boolean false -
remote.log.delete.on.disable boolean false -
remote.storage.enable boolean false -
retention.bytes long -1 -
retention.ms long 604800000 -1..
segment.bytes int 1073741824 1048576..
segment.index.bytes int 10485760 4..
segment.jitter.ms long 0 0..
segment.ms long 604800000 1..
unclean.leader.election.enable boolean false -
""")

# The broker's setting that is a group's default.
GROUP_BROKER_NAMES = {
    name: f"group.{name}"
    for name in (
        "consumer.heartbeat.interval.ms",
        "consumer.session.timeout.ms",
        "share.heartbeat.interval.ms",
        "share.record.lock.duration.ms",
        "share.session.timeout.ms",
        "streams.heartbeat.interval.ms",
        "streams.num.standby.replicas",
        "streams.session.timeout.ms",
    )
}

GROUP_SETTINGS = Table("""
consumer.heartbeat.interval.ms int 5000 1..
consumer.session.timeout.ms int 45000 1..
share.auto.offset.reset string latest reset
share.heartbeat.interval.ms int 5000 1..
share.isolation.level string read_uncommitted one:read_committed|read_uncommitted
share.record.lock.duration.ms int 30000 1000..
share.session.timeout.ms int 45000 1..
streams.heartbeat.interval.ms int 5000 1..
streams.num.standby.replicas int 0 0..
streams.session.timeout.ms int 45000 1..
""")

METRICS_SETTINGS = Table("""
interval.ms int 300000 -
match list "" -
metrics list "" -
""")
