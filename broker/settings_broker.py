"""Kafka 4.1's broker settings, as text: name, type, default, check, when it may be changed.

Read by `settings.Table`. The facts are those of KafkaConfig's ConfigDef in Apache Kafka 4.1.1, held
by tests against what such a broker answers. What Ottla has otherwise is in `OTTLA_DEFAULTS`.
"""

from __future__ import annotations

from .settings import Table

# Where Ottla's default is not Kafka's: Kafka's are for three nodes and more, or there is none.
OTTLA_DEFAULTS = {
    "broker.id": "1",
    "node.id": "1",
    "offsets.topic.replication.factor": "1",
    "process.roles": "broker,controller",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.replication.factor": "1",
}

# Settings of several names: the first one given counts (DynamicBrokerConfig.brokerConfigSynonyms).
# Beside each, how many milliseconds one of its units has.
SYNONYMS: dict[str, tuple[tuple[str, int], ...]] = {
    "log.flush.interval.ms": (
        ("log.flush.interval.ms", 1),
        ("log.flush.scheduler.interval.ms", 1),
    ),
    "log.retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", 60_000),
        ("log.retention.hours", 3_600_000),
    ),
    "log.roll.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", 3_600_000)),
    "log.roll.ms": (("log.roll.ms", 1), ("log.roll.hours", 3_600_000)),
}

# Names that belong to plug-ins of Kafka or to its authorizer and are no part of its table.
FOREIGN = ("allow.everyone.if.no.acl.found", "super.users")
FOREIGN_PREFIXES = ("metrics.context.", "rlmm.config.", "rsm.config.")

BROKER_SETTINGS = Table("""
add.partitions.to.txn.retry.backoff.max.ms int 100 0.. static
add.partitions.to.txn.retry.backoff.ms int 20 1.. static
advertised.listeners string null - static
alter.config.policy.class.name class null - static
alter.log.dirs.replication.quota.window.num int 11 1.. static
alter.log.dirs.replication.quota.window.size.seconds int 1 1.. static
authorizer.class.name string "" - static
auto.create.topics.enable boolean true - static
auto.leader.rebalance.enable boolean true - static
background.threads int 10 1.. cluster
broker.heartbeat.interval.ms int 2000 - static
broker.id int -1 - static
broker.rack string null - static
broker.session.timeout.ms int 9000 - static
client.quota.callback.class class null - static
compression.gzip.level int -1 1..9|-1 cluster
compression.lz4.level int 9 1..17 cluster
compression.type string producer one:uncompressed|zstd|lz4|snappy|gzip|producer cluster
compression.zstd.level int 3 -131072..22 cluster
connection.failed.authentication.delay.ms int 100 0.. static
connections.max.idle.ms long 600000 - static
connections.max.reauth.ms long 0 - static
controlled.shutdown.enable boolean true - static
controller.listener.names string null - static
controller.performance.always.log.threshold.ms long 2000 0.. internal
controller.performance.sample.period.ms long 60000 100.. internal
controller.quorum.append.linger.ms int 25 0.. static
controller.quorum.bootstrap.servers list "" - static
controller.quorum.election.backoff.max.ms int 1000 0.. static
controller.quorum.election.timeout.ms int 1000 0.. static
controller.quorum.fetch.timeout.ms int 2000 0.. static
controller.quorum.request.timeout.ms int 2000 0.. static
controller.quorum.retry.backoff.ms int 20 0.. static
controller.quorum.voters list "" - static
controller.quota.window.num int 11 1.. static
controller.quota.window.size.seconds int 1 1.. static
controller.socket.timeout.ms int 30000 - static
create.topic.policy.class.name class null - static
default.replication.factor int 1 - static
delegation.token.expiry.check.interval.ms long 3600000 1.. static
delegation.token.expiry.time.ms long 86400000 1.. static
delegation.token.max.lifetime.ms long 604800000 1.. static
delegation.token.secret.key password null - static
delete.records.purgatory.purge.interval.requests int 1 - static
delete.topic.enable boolean true - static
early.start.listeners string null - static
fetch.max.bytes int 57671680 1024.. static
fetch.purgatory.purge.interval.requests int 1000 - static
group.consumer.assignors list uniform,range - static
group.consumer.heartbeat.interval.ms int 5000 1.. static
group.consumer.max.heartbeat.interval.ms int 15000 1.. static
group.consumer.max.session.timeout.ms int 60000 1.. static
group.consumer.max.size int 2147483647 1.. static
group.consumer.migration.policy string bidirectional \
anycase:DISABLED|DOWNGRADE|UPGRADE|BIDIRECTIONAL static
group.consumer.min.heartbeat.interval.ms int 5000 1.. static
group.consumer.min.session.timeout.ms int 45000 1.. static
group.consumer.regex.refresh.interval.ms int 600000 10000.. internal
group.consumer.session.timeout.ms int 45000 1.. static
group.coordinator.append.linger.ms int 5 0.. static
group.coordinator.rebalance.protocols list classic,consumer,streams \
each:consumer|classic|share|streams static
group.coordinator.threads int 4 1.. static
group.initial.rebalance.delay.ms int 3000 - static
group.max.session.timeout.ms int 1800000 - static
group.max.size int 2147483647 1.. static
group.min.session.timeout.ms int 6000 - static
group.share.assignors list simple - static
group.share.delivery.count.limit int 5 2..10 static
group.share.enable boolean false - internal
group.share.heartbeat.interval.ms int 5000 1.. static
group.share.max.heartbeat.interval.ms int 15000 1.. static
group.share.max.record.lock.duration.ms int 60000 30000..3600000 static
group.share.max.session.timeout.ms int 60000 1.. static
group.share.max.share.sessions int 2000 1.. static
group.share.max.size int 200 1..1000 static
group.share.min.heartbeat.interval.ms int 5000 1.. static
group.share.min.record.lock.duration.ms int 15000 1000..30000 static
group.share.min.session.timeout.ms int 45000 1.. static
group.share.partition.max.record.locks int 2000 100..10000 static
group.share.persister.class.name string \
org.apache.kafka.server.share.persister.DefaultStatePersister - internal
group.share.record.lock.duration.ms int 30000 1000..3600000 static
group.share.session.timeout.ms int 45000 1.. static
group.streams.heartbeat.interval.ms int 5000 1.. static
group.streams.max.heartbeat.interval.ms int 15000 1.. static
group.streams.max.session.timeout.ms int 60000 1.. static
group.streams.max.size int 2147483647 1.. static
group.streams.max.standby.replicas int 2 0.. static
group.streams.min.heartbeat.interval.ms int 5000 1.. static
group.streams.min.session.timeout.ms int 45000 1.. static
group.streams.num.standby.replicas int 0 0.. static
group.streams.session.timeout.ms int 45000 1.. static
initial.broker.registration.timeout.ms int 60000 - static
inter.broker.listener.name string null - static
internal.metadata.delete.delay.millis long 60000 - internal
internal.metadata.log.segment.bytes int null - internal
internal.metadata.max.batch.size.in.bytes int 8388608 - internal
internal.metadata.max.fetch.size.in.bytes int 8388608 - internal
kafka.metrics.polling.interval.secs int 10 1.. static
kafka.metrics.reporters list "" - static
leader.imbalance.check.interval.seconds long 300 1.. static
listener.security.protocol.map string \
SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT - broker
listeners string PLAINTEXT://:9092 - broker
log.cleaner.backoff.ms long 15000 0.. cluster
log.cleaner.dedupe.buffer.size long 134217728 - cluster
log.cleaner.delete.retention.ms long 86400000 0.. cluster
log.cleaner.enable boolean true - static
log.cleaner.io.buffer.load.factor double 0.9 - cluster
log.cleaner.io.buffer.size int 524288 0.. cluster
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 - cluster
log.cleaner.max.compaction.lag.ms long 9223372036854775807 1.. cluster
log.cleaner.min.cleanable.ratio double 0.5 0..1 cluster
log.cleaner.min.compaction.lag.ms long 0 0.. cluster
log.cleaner.threads int 1 0.. cluster
log.cleanup.policy list delete each:compact|delete cluster
log.dir string /tmp/kafka-logs - static
log.dir.failure.timeout.ms long 30000 1.. static
log.dirs string null - static
log.flush.interval.messages long 9223372036854775807 1.. cluster
log.flush.interval.ms long null - cluster
log.flush.offset.checkpoint.interval.ms int 60000 0.. static
log.flush.scheduler.interval.ms long 9223372036854775807 - static
log.flush.start.offset.checkpoint.interval.ms int 60000 0.. static
log.index.interval.bytes int 4096 0.. cluster
log.index.size.max.bytes int 10485760 4.. cluster
log.initial.task.delay.ms long 30000 0.. internal
log.local.retention.bytes long -2 -2.. cluster
log.local.retention.ms long -2 -2.. cluster
log.message.timestamp.after.max.ms long 3600000 0.. cluster
log.message.timestamp.before.max.ms long 9223372036854775807 0.. cluster
log.message.timestamp.type string CreateTime one:CreateTime|LogAppendTime cluster
log.preallocate boolean false - cluster
log.retention.bytes long -1 - cluster
log.retention.check.interval.ms long 300000 1.. static
log.retention.hours int 168 - static
log.retention.minutes int null - static
log.retention.ms long null - cluster
log.roll.hours int 168 1.. static
log.roll.jitter.hours int 0 0.. static
log.roll.jitter.ms long null - cluster
log.roll.ms long null - cluster
log.segment.bytes int 1073741824 1048576.. cluster
log.segment.delete.delay.ms long 60000 0.. cluster
max.connection.creation.rate int 2147483647 0.. cluster
max.connections int 2147483647 0.. cluster
max.connections.per.ip int 2147483647 0.. cluster
max.connections.per.ip.overrides string "" - cluster
max.incremental.fetch.session.cache.slots int 1000 0.. static
max.request.partition.size.limit int 2000 1.. static
message.max.bytes int 1048588 0.. cluster
metadata.log.dir string null - static
metadata.log.max.record.bytes.between.snapshots long 20971520 1.. static
metadata.log.max.snapshot.interval.ms long 3600000 0.. static
metadata.log.segment.bytes int 1073741824 8388608.. static
metadata.log.segment.ms long 604800000 - static
metadata.max.idle.interval.ms int 500 0.. static
metadata.max.retention.bytes long 104857600 - static
metadata.max.retention.ms long 604800000 - static
metric.reporters list org.apache.kafka.common.metrics.JmxReporter - cluster
metrics.num.samples int 2 1.. static
metrics.recording.level string INFO - static
metrics.sample.window.ms long 30000 1.. static
min.insync.replicas int 1 1.. cluster
node.id int null 0.. static
num.io.threads int 8 1.. cluster
num.network.threads int 3 1.. cluster
num.partitions int 1 1.. static
num.recovery.threads.per.data.dir int 2 1.. cluster
num.replica.alter.log.dirs.threads int null - static
num.replica.fetchers int 1 - cluster
offset.metadata.max.bytes int 4096 - static
offsets.commit.timeout.ms int 5000 1.. static
offsets.load.buffer.size int 5242880 1.. static
offsets.retention.check.interval.ms long 600000 1.. static
offsets.retention.minutes int 10080 1.. static
offsets.topic.compression.codec int 0 0..4 static
offsets.topic.num.partitions int 50 1.. static
offsets.topic.replication.factor short 3 1.. static
offsets.topic.segment.bytes int 104857600 1.. static
principal.builder.class class \
org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder - broker
process.roles list null each:broker|controller static
producer.id.expiration.check.interval.ms int 600000 1.. internal
producer.id.expiration.ms int 86400000 1.. cluster
producer.purgatory.purge.interval.requests int 1000 - static
queued.max.request.bytes long -1 - static
queued.max.requests int 500 1.. static
quota.window.num int 11 1.. static
quota.window.size.seconds int 1 1.. static
remote.fetch.max.wait.ms int 500 1.. cluster
remote.list.offsets.request.timeout.ms long 30000 1.. cluster
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. cluster
remote.log.manager.copier.thread.pool.size int 10 1.. cluster
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. cluster
remote.log.manager.copy.quota.window.num int 11 1.. static
remote.log.manager.copy.quota.window.size.seconds int 1 1.. static
remote.log.manager.expiration.thread.pool.size int 10 1.. cluster
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. cluster
remote.log.manager.fetch.quota.window.num int 11 1.. static
remote.log.manager.fetch.quota.window.size.seconds int 1 1.. static
remote.log.manager.task.interval.ms long 30000 1.. static
remote.log.manager.task.retry.backoff.max.ms long 30000 1.. internal
remote.log.manager.task.retry.backoff.ms long 500 1.. internal
remote.log.manager.task.retry.jitter double 0.2 0..0.5 internal
remote.log.manager.thread.pool.size int 2 1.. static
remote.log.metadata.custom.metadata.max.bytes int 128 0.. static
remote.log.metadata.manager.class.name string \
org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager nonempty \
static
remote.log.metadata.manager.class.path string null - static
remote.log.metadata.manager.impl.prefix string rlmm.config. nonempty static
remote.log.metadata.manager.listener.name string null nonempty static
remote.log.reader.max.pending.tasks int 100 1.. static
remote.log.reader.threads int 10 1.. cluster
remote.log.storage.manager.class.name string null nonempty static
remote.log.storage.manager.class.path string null - static
remote.log.storage.manager.impl.prefix string rsm.config. nonempty static
remote.log.storage.system.enable boolean false - static
replica.fetch.backoff.ms int 1000 0.. static
replica.fetch.max.bytes int 1048576 0.. static
replica.fetch.min.bytes int 1 - static
replica.fetch.response.max.bytes int 10485760 0.. static
replica.fetch.wait.max.ms int 500 - static
replica.high.watermark.checkpoint.interval.ms long 5000 - static
replica.lag.time.max.ms long 30000 - static
replica.selector.class string null - static
replica.socket.receive.buffer.bytes int 65536 - static
replica.socket.timeout.ms int 30000 - static
replication.quota.window.num int 11 1.. static
replication.quota.window.size.seconds int 1 1.. static
request.timeout.ms int 30000 - static
sasl.client.callback.handler.class class null - static
sasl.enabled.mechanisms list GSSAPI - broker
sasl.jaas.config password null - broker
sasl.kerberos.kinit.cmd string /usr/bin/kinit - broker
sasl.kerberos.min.time.before.relogin long 60000 - broker
sasl.kerberos.principal.to.local.rules list DEFAULT - broker
sasl.kerberos.service.name string null - broker
sasl.kerberos.ticket.renew.jitter double 0.05 - broker
sasl.kerberos.ticket.renew.window.factor double 0.8 - broker
sasl.login.callback.handler.class class null - static
sasl.login.class class null - static
sasl.login.connect.timeout.ms int null - static
sasl.login.read.timeout.ms int null - static
sasl.login.refresh.buffer.seconds short 300 - broker
sasl.login.refresh.min.period.seconds short 60 - broker
sasl.login.refresh.window.factor double 0.8 - broker
sasl.login.refresh.window.jitter double 0.05 - broker
sasl.login.retry.backoff.max.ms long 10000 - static
sasl.login.retry.backoff.ms long 100 - static
sasl.mechanism.controller.protocol string GSSAPI - static
sasl.mechanism.inter.broker.protocol string GSSAPI - broker
sasl.oauthbearer.assertion.algorithm string RS256 anycase:ES256|RS256 static
sasl.oauthbearer.assertion.claim.aud string null - static
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400 static
sasl.oauthbearer.assertion.claim.iss string null - static
sasl.oauthbearer.assertion.claim.jti.include boolean false - static
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600 static
sasl.oauthbearer.assertion.claim.sub string null - static
sasl.oauthbearer.assertion.file string null - static
sasl.oauthbearer.assertion.private.key.file string null - static
sasl.oauthbearer.assertion.private.key.passphrase password null - static
sasl.oauthbearer.assertion.template.file string null - static
sasl.oauthbearer.client.credentials.client.id string null - static
sasl.oauthbearer.client.credentials.client.secret password null - static
sasl.oauthbearer.clock.skew.seconds int 30 - static
sasl.oauthbearer.expected.audience list null - static
sasl.oauthbearer.expected.issuer string null - static
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000 - static
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 - static
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 - static
sasl.oauthbearer.jwks.endpoint.url string null - static
sasl.oauthbearer.jwt.retriever.class class \
org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever - static
sasl.oauthbearer.jwt.validator.class class \
org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator - static
sasl.oauthbearer.scope string null - static
sasl.oauthbearer.scope.claim.name string scope - static
sasl.oauthbearer.sub.claim.name string sub - static
sasl.oauthbearer.token.endpoint.url string null - static
sasl.server.callback.handler.class class null - static
sasl.server.max.receive.size int 524288 - static
security.inter.broker.protocol string PLAINTEXT one:PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL static
security.providers string null - static
server.max.startup.time.ms long 9223372036854775807 0.. internal
share.coordinator.append.linger.ms int 5 0.. static
share.coordinator.cold.partition.snapshot.interval.ms int 300000 1.. internal
share.coordinator.load.buffer.size int 5242880 1.. static
share.coordinator.snapshot.update.records.per.snapshot int 500 0.. static
share.coordinator.state.topic.compression.codec int 0 - static
share.coordinator.state.topic.min.isr short 2 1.. static
share.coordinator.state.topic.num.partitions int 50 1.. static
share.coordinator.state.topic.prune.interval.ms int 300000 1.. internal
share.coordinator.state.topic.replication.factor short 3 1.. static
share.coordinator.state.topic.segment.bytes int 104857600 1.. static
share.coordinator.threads int 1 1.. static
share.coordinator.write.timeout.ms int 5000 1.. static
share.fetch.purgatory.purge.interval.requests int 1000 - static
socket.connection.setup.timeout.max.ms long 30000 - static
socket.connection.setup.timeout.ms long 10000 - static
socket.listen.backlog.size int 50 1.. static
socket.receive.buffer.bytes int 102400 - static
socket.request.max.bytes int 104857600 1.. static
socket.send.buffer.bytes int 102400 - static
ssl.allow.dn.changes boolean false - static
ssl.allow.san.changes boolean false - static
ssl.cipher.suites list "" - broker
ssl.client.auth string none one:required|requested|none broker
ssl.enabled.protocols list TLSv1.2,TLSv1.3 - broker
ssl.endpoint.identification.algorithm string https - broker
ssl.engine.factory.class class null - broker
ssl.key.password password null - broker
ssl.keymanager.algorithm string SunX509 - broker
ssl.keystore.certificate.chain password null - broker
ssl.keystore.key password null - broker
ssl.keystore.location string null - broker
ssl.keystore.password password null - broker
ssl.keystore.type string JKS - broker
ssl.principal.mapping.rules string DEFAULT - static
ssl.protocol string TLSv1.3 - broker
ssl.provider string null - broker
ssl.secure.random.implementation string null - broker
ssl.trustmanager.algorithm string PKIX - broker
ssl.truststore.certificates password null - broker
ssl.truststore.location string null - broker
ssl.truststore.password password null - broker
ssl.truststore.type string JKS - broker
telemetry.max.bytes int 1048576 1.. static
transaction.abort.timed.out.transaction.cleanup.interval.ms int 10000 1.. static
transaction.max.timeout.ms int 900000 1.. static
transaction.partition.verification.enable boolean true - cluster
transaction.remove.expired.transaction.cleanup.interval.ms int 3600000 1.. static
transaction.state.log.load.buffer.size int 5242880 1.. static
transaction.state.log.min.isr int 2 1.. static
transaction.state.log.num.partitions int 50 1.. static
transaction.state.log.replication.factor short 3 1.. static
transaction.state.log.segment.bytes int 104857600 1.. static
transaction.two.phase.commit.enable boolean false - static
transactional.id.expiration.ms int 604800000 1.. static
unclean.leader.election.enable boolean false - cluster
unclean.leader.election.interval.ms long 300000 1.. internal
unstable.api.versions.enable boolean false - internal
unstable.feature.versions.enable boolean false - internal
""")
