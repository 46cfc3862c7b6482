"""Settings that releases of Kafka have and 4.4 has not, and the other way round.

From the recordings in tests/broker/releases, which tests compare with. `SINCE` has the names by the
release that first had them, for each kind of resource. `ROWS` has settings that have ended or were
different, a line each: the first and the last release, name, type, default and update mode.
Releases between those of the table are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SINCE: Final[Mapping[str, Mapping[str, str]]] = {
    "broker": {
        "3.4": """
broker.heartbeat.interval.ms broker.session.timeout.ms controller.quorum.append.linger.ms
controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms
controller.quorum.retry.backoff.ms early.start.listeners initial.broker.registration.timeout.ms
metadata.log.dir metadata.log.max.record.bytes.between.snapshots
metadata.log.max.snapshot.interval.ms metadata.log.segment.bytes metadata.log.segment.ms
metadata.max.idle.interval.ms metadata.max.retention.bytes metadata.max.retention.ms
producer.id.expiration.ms sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism.controller.protocol
sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
sasl.oauthbearer.token.endpoint.url socket.listen.backlog.size
""",
        "3.9": """
compression.gzip.level compression.lz4.level compression.zstd.level
controller.quorum.bootstrap.servers group.consumer.assignors group.consumer.heartbeat.interval.ms
group.consumer.max.heartbeat.interval.ms group.consumer.max.session.timeout.ms
group.consumer.max.size group.consumer.min.heartbeat.interval.ms
group.consumer.min.session.timeout.ms group.consumer.session.timeout.ms
group.coordinator.append.linger.ms group.coordinator.rebalance.protocols group.coordinator.threads
group.share.delivery.count.limit group.share.heartbeat.interval.ms
group.share.max.heartbeat.interval.ms group.share.max.record.lock.duration.ms
group.share.max.session.timeout.ms group.share.max.size group.share.min.heartbeat.interval.ms
group.share.min.record.lock.duration.ms group.share.min.session.timeout.ms
group.share.partition.max.record.locks group.share.record.lock.duration.ms
group.share.session.timeout.ms log.dir.failure.timeout.ms log.local.retention.bytes
log.local.retention.ms log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms
max.request.partition.size.limit remote.fetch.max.wait.ms
remote.log.index.file.cache.total.size.bytes remote.log.manager.copier.thread.pool.size
remote.log.manager.copy.max.bytes.per.second remote.log.manager.copy.quota.window.num
remote.log.manager.copy.quota.window.size.seconds remote.log.manager.expiration.thread.pool.size
remote.log.manager.fetch.max.bytes.per.second remote.log.manager.fetch.quota.window.num
remote.log.manager.fetch.quota.window.size.seconds remote.log.manager.task.interval.ms
remote.log.manager.thread.pool.size remote.log.metadata.custom.metadata.max.bytes
remote.log.metadata.manager.class.name remote.log.metadata.manager.class.path
remote.log.metadata.manager.impl.prefix remote.log.metadata.manager.listener.name
remote.log.reader.max.pending.tasks remote.log.reader.threads remote.log.storage.manager.class.name
remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix
remote.log.storage.system.enable ssl.allow.dn.changes ssl.allow.san.changes telemetry.max.bytes
transaction.partition.verification.enable
""",
        "4.1": """
add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms
group.consumer.migration.policy group.share.assignors group.share.max.share.sessions
group.streams.heartbeat.interval.ms group.streams.max.heartbeat.interval.ms
group.streams.max.session.timeout.ms group.streams.max.size group.streams.max.standby.replicas
group.streams.min.heartbeat.interval.ms group.streams.min.session.timeout.ms
group.streams.num.standby.replicas group.streams.session.timeout.ms
remote.list.offsets.request.timeout.ms sasl.oauthbearer.assertion.algorithm
sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub
sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope
share.coordinator.append.linger.ms share.coordinator.load.buffer.size
share.coordinator.snapshot.update.records.per.snapshot
share.coordinator.state.topic.compression.codec share.coordinator.state.topic.min.isr
share.coordinator.state.topic.num.partitions share.coordinator.state.topic.replication.factor
share.coordinator.state.topic.segment.bytes share.coordinator.threads
share.coordinator.write.timeout.ms share.fetch.purgatory.purge.interval.requests
transaction.two.phase.commit.enable
""",
        "4.2": """
config.providers controller.quorum.auto.join.enable group.streams.initial.rebalance.delay.ms
remote.log.manager.follower.thread.pool.size
""",
        "4.3": """
controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes cordoned.log.dirs
follower.fetch.last.tiered.offset.enable group.consumer.assignment.interval.ms
group.consumer.max.assignment.interval.ms group.consumer.min.assignment.interval.ms
group.coordinator.background.threads group.coordinator.cached.buffer.max.bytes
group.share.assignment.interval.ms group.share.max.assignment.interval.ms
group.share.max.delivery.count.limit group.share.max.partition.max.record.locks
group.share.min.assignment.interval.ms group.share.min.delivery.count.limit
group.share.min.partition.max.record.locks group.streams.assignment.interval.ms
group.streams.max.assignment.interval.ms group.streams.min.assignment.interval.ms
share.coordinator.cached.buffer.max.bytes
""",
        "4.4": """
errors.deadletterqueue.auto.create.topics.enable errors.deadletterqueue.topic.name.prefix
group.streams.assignors group.streams.rack.aware.assignment.tags
group.streams.topology.description.plugin.class log.remote.copy.lag.bytes log.remote.copy.lag.ms
max.decompressed.message.bytes sasl.oauthbearer.allow.unverified.audience
sasl.oauthbearer.allow.unverified.issuer
""",
    },
    "topic": {
        "3.9": """
compression.gzip.level compression.lz4.level compression.zstd.level local.retention.bytes
local.retention.ms message.timestamp.after.max.ms message.timestamp.before.max.ms
remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable
""",
        "4.4": """
errors.deadletterqueue.group.enable max.decompressed.message.bytes remote.copy.lag.bytes
remote.copy.lag.ms
""",
    },
    "group": {
        "4.1": """
consumer.heartbeat.interval.ms consumer.session.timeout.ms share.auto.offset.reset
share.heartbeat.interval.ms share.isolation.level share.record.lock.duration.ms
share.session.timeout.ms streams.heartbeat.interval.ms streams.num.standby.replicas
streams.session.timeout.ms
""",
        "4.2": """
streams.initial.rebalance.delay.ms
""",
        "4.3": """
consumer.assignment.interval.ms share.assignment.interval.ms share.delivery.count.limit
share.partition.max.record.locks share.renew.acknowledge.enable streams.assignment.interval.ms
""",
        "4.4": """
errors.deadletterqueue.copy.record.enable errors.deadletterqueue.topic.name streams.assignor.name
streams.rack.aware.assignment.tags
""",
    },
    "client metrics": {
        "4.1": """
interval.ms match metrics
""",
    },
}
ROWS: Final[Mapping[str, str]] = {
    "broker": """
2.8..2.8 advertised.host.name string null static
2.8..4.1 advertised.listeners string null static
2.8..2.8 advertised.port int null static
3.9..3.9 alter.config.policy.kraft.compatibility.enable boolean false static
3.4..3.9 auto.include.jmx.reporter boolean true static
2.8..3.9 broker.id.generation.enable boolean true static
2.8..3.9 control.plane.listener.name string null static
2.8..3.9 controlled.shutdown.max.retries int 3 static
2.8..3.9 controlled.shutdown.retry.backoff.ms long 5000 static
2.8..4.1 controller.listener.names string null static
2.8..3.9 delegation.token.master.key password null static
3.4..4.1 early.start.listeners string null static
3.9..3.9 eligible.leader.replicas.enable boolean false static
3.9..3.9 group.coordinator.append.linger.ms int 10 static
4.1..4.1 group.coordinator.append.linger.ms int 5 static
3.9..3.9 group.coordinator.rebalance.protocols list classic static
3.9..3.9 group.coordinator.threads int 1 static
3.9..3.9 group.share.max.groups short 10 static
3.9..3.9 group.share.max.size short 200 static
3.9..3.9 group.share.partition.max.record.locks int 200 static
2.8..2.8 host.name string "" static
2.8..2.8 inter.broker.protocol.version string 2.8-IV1 static
3.4..3.4 inter.broker.protocol.version string 3.4-IV0 static
3.9..3.9 inter.broker.protocol.version string 3.9-IV0 static
2.8..3.9 leader.imbalance.per.broker.percentage int 10 static
2.8..4.1 listeners string PLAINTEXT://:9092 cluster
2.8..4.1 log.dir string /tmp/kafka-logs static
2.8..4.1 log.dirs string null static
2.8..3.9 log.message.downconversion.enable boolean true cluster
2.8..2.8 log.message.format.version string 2.8-IV1 static
3.4..3.9 log.message.format.version string 3.0-IV1 static
3.9..3.9 log.message.timestamp.after.max.ms long 9223372036854775807 cluster
2.8..3.9 log.message.timestamp.difference.max.ms long 9223372036854775807 cluster
2.8..3.9 metric.reporters list "" cluster
2.8..3.9 node.id int -1 static
2.8..3.9 num.recovery.threads.per.data.dir int 1 cluster
2.8..3.9 offsets.commit.required.acks short -1 static
2.8..3.9 password.encoder.cipher.algorithm string AES/CBC/PKCS5Padding static
2.8..3.9 password.encoder.iterations int 4096 static
2.8..3.9 password.encoder.key.length int 128 static
2.8..3.9 password.encoder.keyfactory.algorithm string null static
2.8..3.9 password.encoder.old.secret password null static
2.8..3.9 password.encoder.secret password null static
2.8..2.8 port int 9092 static
2.8..2.8 principal.builder.class class null cluster
2.8..3.9 process.roles list "" static
2.8..2.8 quota.consumer.default long 9223372036854775807 static
2.8..2.8 quota.producer.default long 9223372036854775807 static
3.9..3.9 remote.log.manager.copier.thread.pool.size int -1 static
3.9..3.9 remote.log.manager.expiration.thread.pool.size int -1 static
3.9..3.9 remote.log.manager.thread.pool.size int 10 static
3.9..3.9 remote.log.reader.threads int 10 static
2.8..3.9 reserved.broker.max.id int 1000 static
3.4..4.1 sasl.oauthbearer.expected.audience list null static
4.1..4.1 share.coordinator.append.linger.ms int 5 static
2.8..3.9 zookeeper.clientCnxnSocket string null static
2.8..3.9 zookeeper.connect string null static
2.8..3.9 zookeeper.connection.timeout.ms int null static
2.8..3.9 zookeeper.max.in.flight.requests int 10 static
3.4..3.9 zookeeper.metadata.migration.enable boolean false static
2.8..3.9 zookeeper.session.timeout.ms int 18000 static
2.8..3.9 zookeeper.set.acl boolean false static
2.8..3.9 zookeeper.ssl.cipher.suites list null static
2.8..3.9 zookeeper.ssl.client.enable boolean false static
2.8..3.9 zookeeper.ssl.crl.enable boolean false static
2.8..3.9 zookeeper.ssl.enabled.protocols list null static
2.8..3.9 zookeeper.ssl.endpoint.identification.algorithm string HTTPS static
2.8..3.9 zookeeper.ssl.keystore.location string null static
2.8..3.9 zookeeper.ssl.keystore.password password null static
2.8..3.9 zookeeper.ssl.keystore.type string null static
2.8..3.9 zookeeper.ssl.ocsp.enable boolean false static
2.8..3.9 zookeeper.ssl.protocol string TLSv1.2 static
2.8..3.9 zookeeper.ssl.truststore.location string null static
2.8..3.9 zookeeper.ssl.truststore.password password null static
2.8..3.9 zookeeper.ssl.truststore.type string null static
2.8..2.8 zookeeper.sync.time.ms int 2000 static
""",
    "topic": """
2.8..3.9 message.downconversion.enable boolean true resource
2.8..2.8 message.format.version string 2.8-IV1 resource
3.4..3.9 message.format.version string 3.0-IV1 resource
3.9..3.9 message.timestamp.after.max.ms long 9223372036854775807 resource
2.8..3.9 message.timestamp.difference.max.ms long 9223372036854775807 resource
""",
    "group": """
""",
    "client metrics": """
""",
}
