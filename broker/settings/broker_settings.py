"""Kafka 4.4's broker settings as a text table: name, type, default, check, update mode, support.

`definitions.Table` reads it; definitions.py explains checks and update modes, support.py the last
word. The rows are those of KafkaConfig's ConfigDef in Apache Kafka 4.4.0; tests compare them with
the answers of such a broker. `OTTLA_DEFAULTS` has the defaults that differ.
"""

from __future__ import annotations

from .definitions import Table

# Defaults that differ from Kafka's: Kafka has none, or one for clusters of three or more nodes.
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

# Settings with several names: the first that is set counts (DynamicBrokerConfig.
# brokerConfigSynonyms). Each has the milliseconds of its unit.
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

# Names of settings of Kafka's plug-ins and authorizer, which its table does not contain.
FOREIGN = ("allow.everyone.if.no.acl.found", "super.users")
FOREIGN_PREFIXES = ("metrics.context.", "rlmm.config.", "rsm.config.")

BROKER_SETTINGS = Table("""
add.partitions.to.txn.retry.backoff.max.ms int 100 0.. static harmless
add.partitions.to.txn.retry.backoff.ms int 20 1.. static harmless
advertised.listeners list null - static works
alter.config.policy.class.name class null - static refused
alter.log.dirs.replication.quota.window.num int 11 1.. static harmless
alter.log.dirs.replication.quota.window.size.seconds int 1 1.. static harmless
authorizer.class.name string "" - static ruled
auto.create.topics.enable boolean true - static works
auto.leader.rebalance.enable boolean true - static works
background.threads int 10 1.. cluster harmless
broker.heartbeat.interval.ms int 2000 - static works
broker.id int -1 - static works
broker.rack string null - static works
broker.session.timeout.ms int 9000 - static works
client.quota.callback.class class null - static refused
compression.gzip.level int -1 1..9|-1 cluster works
compression.lz4.level int 9 1..17 cluster works
compression.type string producer one:uncompressed|zstd|lz4|snappy|gzip|producer cluster works
compression.zstd.level int 3 -131072..22 cluster works
config.providers list "" - cluster works
connection.failed.authentication.delay.ms int 100 0.. static works
connections.max.idle.ms long 600000 - static works
connections.max.reauth.ms long 0 - static works
controlled.shutdown.enable boolean true - static harmless
controller.listener.names list null - static works
controller.performance.always.log.threshold.ms long 2000 0.. internal harmless
controller.performance.sample.period.ms long 60000 100.. internal harmless
controller.quorum.append.linger.ms int 25 0.. static harmless
controller.quorum.auto.join.enable boolean false - static harmless
controller.quorum.bootstrap.servers list "" - static ruled
controller.quorum.election.backoff.max.ms int 1000 0.. static harmless
controller.quorum.election.timeout.ms int 1000 0.. static harmless
controller.quorum.fetch.max.bytes int 1048576 1.. static harmless
controller.quorum.fetch.snapshot.max.bytes int 1048576 1.. static harmless
controller.quorum.fetch.timeout.ms int 2000 0.. static harmless
controller.quorum.request.timeout.ms int 2000 0.. static harmless
controller.quorum.retry.backoff.ms int 20 0.. static harmless
controller.quorum.voters list "" - static ruled
controller.quota.window.num int 11 1.. static works
controller.quota.window.size.seconds int 1 1.. static works
controller.socket.timeout.ms int 30000 - static harmless
cordoned.log.dirs list "" - broker works
create.topic.policy.class.name class null - static refused
default.replication.factor int 1 - static works
delegation.token.expiry.check.interval.ms long 3600000 1.. static works
delegation.token.expiry.time.ms long 86400000 1.. static works
delegation.token.max.lifetime.ms long 604800000 1.. static works
delegation.token.secret.key password null - static works
delete.records.purgatory.purge.interval.requests int 1 - static harmless
delete.topic.enable boolean true - static works
early.start.listeners list null - static harmless
errors.deadletterqueue.auto.create.topics.enable boolean false - cluster works
errors.deadletterqueue.topic.name.prefix string dlq. - cluster works
fetch.max.bytes int 57671680 1024.. static works
fetch.purgatory.purge.interval.requests int 1000 - static harmless
follower.fetch.last.tiered.offset.enable boolean false - cluster harmless
group.consumer.assignment.interval.ms int 1000 0.. cluster works
group.consumer.assignor.offload.enable boolean true - internal harmless
group.consumer.assignors list uniform,range - static works
group.consumer.heartbeat.interval.ms int 5000 1.. static works
group.consumer.max.assignment.interval.ms int 15000 0.. static works
group.consumer.max.heartbeat.interval.ms int 15000 1.. static works
group.consumer.max.session.timeout.ms int 60000 1.. static works
group.consumer.max.size int 2147483647 1.. static works
group.consumer.migration.policy string bidirectional \
anycase:DISABLED|DOWNGRADE|UPGRADE|BIDIRECTIONAL static works
group.consumer.min.assignment.interval.ms int 0 0.. static works
group.consumer.min.heartbeat.interval.ms int 5000 1.. static works
group.consumer.min.session.timeout.ms int 45000 1.. static works
group.consumer.regex.refresh.interval.ms int 600000 10000.. internal works
group.consumer.session.timeout.ms int 45000 1.. static works
group.coordinator.append.linger.ms int -1 -1.. static works
group.coordinator.background.threads int 2 1.. static harmless
group.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster harmless
group.coordinator.rebalance.protocols list classic,consumer,streams \
each:consumer|classic|share|streams static ruled
group.coordinator.threads int 4 1.. static harmless
group.initial.rebalance.delay.ms int 3000 - static works
group.max.session.timeout.ms int 1800000 - static works
group.max.size int 2147483647 1.. static works
group.min.session.timeout.ms int 6000 - static works
group.share.assignment.interval.ms int 1000 0.. cluster works
group.share.assignor.offload.enable boolean true - internal harmless
group.share.assignors list simple filled static only:simple
group.share.delivery.count.limit int 5 2..10 static works
group.share.dlq.manager.class.name string \
org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager - internal refused
group.share.heartbeat.interval.ms int 5000 1.. static works
group.share.initialize.retry.interval.ms int 30000 1.. internal works
group.share.max.assignment.interval.ms int 15000 0.. static works
group.share.max.delivery.count.limit int 10 5..25 static works
group.share.max.heartbeat.interval.ms int 15000 1.. static works
group.share.max.partition.max.record.locks int 4000 2000..10000 static works
group.share.max.record.lock.duration.ms int 60000 30000..3600000 static works
group.share.max.session.timeout.ms int 60000 1.. static works
group.share.max.share.sessions int 2000 1.. static works
group.share.max.size int 200 1..1000 static works
group.share.min.assignment.interval.ms int 0 0.. static works
group.share.min.delivery.count.limit int 2 2..5 static works
group.share.min.heartbeat.interval.ms int 5000 1.. static works
group.share.min.partition.max.record.locks int 100 100..2000 static works
group.share.min.record.lock.duration.ms int 15000 1000..30000 static works
group.share.min.session.timeout.ms int 45000 1.. static works
group.share.partition.max.record.locks int 2000 100..10000 static works
group.share.persister.class.name string \
org.apache.kafka.server.share.persister.DefaultStatePersister - internal refused
group.share.record.lock.duration.ms int 30000 1000..3600000 static works
group.share.session.timeout.ms int 45000 1.. static works
group.streams.acceptable.recovery.lag long 10000 0.. internal works
group.streams.assignment.interval.ms int 1000 0.. cluster works
group.streams.assignor.offload.enable boolean true - internal harmless
group.streams.assignors list sticky filled static only:sticky
group.streams.heartbeat.interval.ms int 5000 1.. static works
group.streams.initial.rebalance.delay.ms int 3000 0.. static works
group.streams.max.assignment.interval.ms int 15000 0.. static works
group.streams.max.heartbeat.interval.ms int 15000 1.. static works
group.streams.max.session.timeout.ms int 60000 1.. static works
group.streams.max.size int 2147483647 1.. static works
group.streams.max.standby.replicas int 2 0.. static works
group.streams.max.warmup.replicas int 20 0.. internal works
group.streams.min.assignment.interval.ms int 0 0.. static works
group.streams.min.heartbeat.interval.ms int 5000 1.. static works
group.streams.min.session.timeout.ms int 45000 1.. static works
group.streams.min.task.offset.interval.ms int 15000 1.. internal works
group.streams.num.standby.replicas int 0 0.. static works
group.streams.num.warmup.replicas int 2 0.. internal works
group.streams.rack.aware.assignment.tags list "" - static works
group.streams.session.timeout.ms int 45000 1.. static works
group.streams.task.offset.interval.ms int 60000 1.. internal works
group.streams.topology.description.plugin.class class null - static refused
initial.broker.registration.timeout.ms int 60000 - static harmless
inter.broker.listener.name string null - static works
internal.metadata.delete.delay.millis long 60000 - internal harmless
internal.metadata.log.segment.bytes int null - internal harmless
internal.metadata.max.batch.size.in.bytes int 8388608 - internal harmless
kafka.metrics.polling.interval.secs int 10 1.. static harmless
kafka.metrics.reporters list "" - static refused
leader.imbalance.check.interval.seconds long 300 1.. static works
listener.security.protocol.map string \
SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT - broker works
listeners list PLAINTEXT://:9092 - broker ruled
log.cleaner.backoff.ms long 15000 0.. cluster works
log.cleaner.dedupe.buffer.size long 134217728 - cluster works
log.cleaner.delete.retention.ms long 86400000 0.. cluster works
log.cleaner.enable boolean true - static works
log.cleaner.io.buffer.load.factor double 0.9 - cluster works
log.cleaner.io.buffer.size int 524288 0.. cluster harmless
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 - cluster works
log.cleaner.max.compaction.lag.ms long 9223372036854775807 1.. cluster works
log.cleaner.min.cleanable.ratio double 0.5 0..1 cluster works
log.cleaner.min.compaction.lag.ms long 0 0.. cluster works
log.cleaner.threads int 1 0.. cluster works
log.cleanup.policy list delete each:compact|delete cluster works
log.dir list /tmp/kafka-logs filled static works
log.dir.failure.timeout.ms long 30000 1.. static harmless
log.dirs list null - static ruled
log.flush.interval.messages long 9223372036854775807 1.. cluster works
log.flush.interval.ms long null - cluster works
log.flush.offset.checkpoint.interval.ms int 60000 0.. static works
log.flush.scheduler.interval.ms long 9223372036854775807 - static works
log.flush.start.offset.checkpoint.interval.ms int 60000 0.. static harmless
log.index.interval.bytes int 4096 0.. cluster works
log.index.size.max.bytes int 10485760 4.. cluster works
log.initial.task.delay.ms long 30000 0.. internal works
log.local.retention.bytes long -2 -2.. cluster harmless
log.local.retention.ms long -2 -2.. cluster harmless
log.message.timestamp.after.max.ms long 3600000 0.. cluster works
log.message.timestamp.before.max.ms long 9223372036854775807 0.. cluster works
log.message.timestamp.type string CreateTime one:CreateTime|LogAppendTime cluster works
log.preallocate boolean false - cluster works
log.remote.copy.lag.bytes long -1 -1.. cluster harmless
log.remote.copy.lag.ms long 0 -1.. cluster harmless
log.retention.bytes long -1 - cluster works
log.retention.check.interval.ms long 300000 1.. static works
log.retention.hours int 168 - static works
log.retention.minutes int null - static works
log.retention.ms long null - cluster works
log.roll.hours int 168 1.. static works
log.roll.jitter.hours int 0 0.. static works
log.roll.jitter.ms long null - cluster works
log.roll.ms long null - cluster works
log.segment.bytes int 1073741824 1048576.. cluster works
log.segment.delete.delay.ms long 60000 0.. cluster works
max.connection.creation.rate int 2147483647 0.. cluster works
max.connections int 2147483647 0.. cluster works
max.connections.per.ip int 2147483647 0.. cluster works
max.connections.per.ip.overrides string "" - cluster works
max.decompressed.message.bytes int 2147483639 1..2147483639 cluster works
max.incremental.fetch.session.cache.slots int 1000 0.. static works
max.request.partition.size.limit int 2000 1.. static works
message.max.bytes int 1048588 0.. cluster works
metadata.log.dir string null - static refused
metadata.log.max.record.bytes.between.snapshots long 20971520 1.. static works
metadata.log.max.snapshot.interval.ms long 3600000 0.. static works
metadata.log.segment.bytes int 1073741824 8388608.. static works
metadata.log.segment.ms long 604800000 - static works
metadata.max.idle.interval.ms int 500 0.. static harmless
metadata.max.retention.bytes long 104857600 - static works
metadata.max.retention.ms long 604800000 - static works
metric.reporters list org.apache.kafka.common.metrics.JmxReporter - cluster \
only:org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples int 2 1.. static harmless
metrics.recording.level string INFO - static harmless
metrics.sample.window.ms long 30000 1.. static harmless
min.insync.replicas int 1 1.. cluster works
node.id int null 0.. static works
num.io.threads int 8 1.. cluster harmless
num.network.threads int 3 1.. cluster harmless
num.partitions int 1 1.. static works
num.recovery.threads.per.data.dir int 2 1.. cluster harmless
num.replica.alter.log.dirs.threads int null - static harmless
num.replica.fetchers int 1 1.. cluster harmless
offset.metadata.max.bytes int 4096 - static works
offsets.commit.timeout.ms int 5000 1.. static harmless
offsets.load.buffer.size int 5242880 1.. static harmless
offsets.retention.check.interval.ms long 600000 1.. static works
offsets.retention.minutes int 10080 1.. static works
offsets.topic.compression.codec int 0 0..4 static harmless
offsets.topic.num.partitions int 50 1.. static works
offsets.topic.replication.factor short 3 1.. static works
offsets.topic.segment.bytes int 104857600 1.. static works
principal.builder.class class \
org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder - broker refused
process.roles list null each:broker|controller static ruled
producer.id.expiration.check.interval.ms int 600000 1.. internal works
producer.id.expiration.ms int 86400000 1.. cluster works
producer.purgatory.purge.interval.requests int 1000 - static harmless
queued.max.request.bytes long -1 - static ruled
queued.max.requests int 500 1.. static harmless
quota.window.num int 11 1.. static works
quota.window.size.seconds int 1 1.. static works
remote.fetch.max.wait.ms int 500 1.. cluster harmless
remote.list.offsets.request.timeout.ms long 30000 1.. cluster harmless
remote.log.index.file.cache.total.size.bytes long 1073741824 1.. cluster harmless
remote.log.index.file.cache.ttl.ms long 900000 -1.. internal harmless
remote.log.manager.copier.thread.pool.size int 10 1.. cluster harmless
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 1.. cluster harmless
remote.log.manager.copy.quota.window.num int 11 1.. static harmless
remote.log.manager.copy.quota.window.size.seconds int 1 1.. static harmless
remote.log.manager.expiration.thread.pool.size int 10 1.. cluster harmless
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 1.. cluster harmless
remote.log.manager.fetch.quota.window.num int 11 1.. static harmless
remote.log.manager.fetch.quota.window.size.seconds int 1 1.. static harmless
remote.log.manager.follower.thread.pool.size int 2 1.. cluster harmless
remote.log.manager.task.interval.ms long 30000 1.. static harmless
remote.log.manager.task.retry.backoff.max.ms long 30000 1.. internal harmless
remote.log.manager.task.retry.backoff.ms long 500 1.. internal harmless
remote.log.manager.task.retry.jitter double 0.2 0..0.5 internal harmless
remote.log.manager.thread.pool.size int 2 1.. static harmless
remote.log.metadata.custom.metadata.max.bytes int 128 0.. static harmless
remote.log.metadata.manager.class.name string \
org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager nonempty \
static refused
remote.log.metadata.manager.class.path string null - static refused
remote.log.metadata.manager.impl.prefix string rlmm.config. nonempty static harmless
remote.log.metadata.manager.listener.name string null nonempty static harmless
remote.log.reader.max.pending.tasks int 100 1.. static harmless
remote.log.reader.threads int 10 1.. cluster harmless
remote.log.storage.manager.class.name string null nonempty static refused
remote.log.storage.manager.class.path string null - static refused
remote.log.storage.manager.impl.prefix string rsm.config. nonempty static harmless
remote.log.storage.system.enable boolean false - static refused
replica.fetch.backoff.ms int 1000 0.. static harmless
replica.fetch.max.bytes int 1048576 0.. static harmless
replica.fetch.min.bytes int 1 - static harmless
replica.fetch.response.max.bytes int 10485760 0.. static harmless
replica.fetch.wait.max.ms int 500 - static harmless
replica.high.watermark.checkpoint.interval.ms long 5000 - static harmless
replica.lag.time.max.ms long 30000 - static harmless
replica.selector.class string null - static refused
replica.socket.receive.buffer.bytes int 65536 - static harmless
replica.socket.timeout.ms int 30000 - static harmless
replication.quota.window.num int 11 1.. static harmless
replication.quota.window.size.seconds int 1 1.. static harmless
request.timeout.ms int 30000 - static works
sasl.client.callback.handler.class class null - static refused
sasl.enabled.mechanisms list GSSAPI - broker ruled
sasl.jaas.config password null - broker ruled
sasl.kerberos.kinit.cmd string /usr/bin/kinit - broker refused
sasl.kerberos.min.time.before.relogin long 60000 - broker harmless
sasl.kerberos.principal.to.local.rules list DEFAULT - broker refused
sasl.kerberos.service.name string null - broker refused
sasl.kerberos.ticket.renew.jitter double 0.05 - broker harmless
sasl.kerberos.ticket.renew.window.factor double 0.8 - broker harmless
sasl.login.callback.handler.class class null - static refused
sasl.login.class class null - static refused
sasl.login.connect.timeout.ms int null - static refused
sasl.login.read.timeout.ms int null - static refused
sasl.login.refresh.buffer.seconds short 300 - broker harmless
sasl.login.refresh.min.period.seconds short 60 - broker harmless
sasl.login.refresh.window.factor double 0.8 - broker harmless
sasl.login.refresh.window.jitter double 0.05 - broker harmless
sasl.login.retry.backoff.max.ms long 10000 - static harmless
sasl.login.retry.backoff.ms long 100 - static harmless
sasl.mechanism.controller.protocol string GSSAPI - static \
only:PLAIN|SCRAM-SHA-256|SCRAM-SHA-512|OAUTHBEARER
sasl.mechanism.inter.broker.protocol string GSSAPI - broker \
only:PLAIN|SCRAM-SHA-256|SCRAM-SHA-512|OAUTHBEARER
sasl.oauthbearer.allow.unverified.audience boolean false - static works
sasl.oauthbearer.allow.unverified.issuer boolean false - static works
sasl.oauthbearer.assertion.algorithm string RS256 anycase:ES256|RS256 static refused
sasl.oauthbearer.assertion.claim.aud string null - static refused
sasl.oauthbearer.assertion.claim.exp.seconds int 300 0..86400 static refused
sasl.oauthbearer.assertion.claim.iss string null - static refused
sasl.oauthbearer.assertion.claim.jti.include boolean false - static refused
sasl.oauthbearer.assertion.claim.nbf.seconds int 60 0..3600 static refused
sasl.oauthbearer.assertion.claim.sub string null - static refused
sasl.oauthbearer.assertion.file string null - static refused
sasl.oauthbearer.assertion.private.key.file string null - static refused
sasl.oauthbearer.assertion.private.key.passphrase password null - static refused
sasl.oauthbearer.assertion.template.file string null - static refused
sasl.oauthbearer.client.credentials.client.id string null - static refused
sasl.oauthbearer.client.credentials.client.secret password null - static refused
sasl.oauthbearer.clock.skew.seconds int 30 - static works
sasl.oauthbearer.expected.audience list "" - static works
sasl.oauthbearer.expected.issuer string null - static works
sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000 - static works
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000 - static works
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100 - static works
sasl.oauthbearer.jwks.endpoint.url string null - static works
sasl.oauthbearer.jwt.retriever.class class \
org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever - static refused
sasl.oauthbearer.jwt.validator.class class \
org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator - static \
only:org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator
sasl.oauthbearer.scope string null - static refused
sasl.oauthbearer.scope.claim.name string scope - static works
sasl.oauthbearer.sub.claim.name string sub - static works
sasl.oauthbearer.token.endpoint.url string null - static refused
sasl.server.callback.handler.class class null - static \
only:org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler|\
org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler
sasl.server.max.receive.size int 524288 - static works
security.inter.broker.protocol string PLAINTEXT one:PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL static \
ruled
security.providers string null - static refused
server.max.startup.time.ms long 9223372036854775807 0.. internal harmless
share.coordinator.append.linger.ms int -1 -1.. static harmless
share.coordinator.cached.buffer.max.bytes int 1048588 524288.. cluster harmless
share.coordinator.cold.partition.snapshot.interval.ms int 300000 1.. internal works
share.coordinator.load.buffer.size int 5242880 1.. static harmless
share.coordinator.snapshot.update.records.per.snapshot int 500 0..500 static works
share.coordinator.state.topic.compression.codec int 0 - static harmless
share.coordinator.state.topic.min.isr short 2 1.. static works
share.coordinator.state.topic.num.partitions int 50 1.. static works
share.coordinator.state.topic.prune.interval.ms int 300000 1.. internal works
share.coordinator.state.topic.replication.factor short 3 1.. static works
share.coordinator.state.topic.segment.bytes int 104857600 1.. static works
share.coordinator.threads int 1 1.. static harmless
share.coordinator.write.timeout.ms int 5000 1.. static harmless
share.fetch.purgatory.purge.interval.requests int 1000 - static harmless
socket.connection.setup.timeout.max.ms long 30000 - static harmless
socket.connection.setup.timeout.ms long 10000 - static harmless
socket.listen.backlog.size int 50 1.. static works
socket.receive.buffer.bytes int 102400 - static works
socket.request.max.bytes int 104857600 1.. static works
socket.send.buffer.bytes int 102400 - static works
ssl.allow.dn.changes boolean false - static works
ssl.allow.san.changes boolean false - static works
ssl.cipher.suites list "" - broker works
ssl.client.auth string none one:required|requested|none broker works
ssl.enabled.protocols list TLSv1.2,TLSv1.3 - broker works
ssl.endpoint.identification.algorithm string https - broker ruled
ssl.engine.factory.class class null - broker refused
ssl.key.password password null - broker works
ssl.keymanager.algorithm string SunX509 - broker refused
ssl.keystore.certificate.chain password null - broker works
ssl.keystore.key password null - broker works
ssl.keystore.location string null - broker works
ssl.keystore.password password null - broker works
ssl.keystore.type string JKS - broker works
ssl.principal.mapping.rules string DEFAULT - static works
ssl.protocol string TLSv1.3 - broker only:TLS|TLSv1.2|TLSv1.3
ssl.provider string null - broker refused
ssl.secure.random.implementation string null - broker refused
ssl.trustmanager.algorithm string PKIX - broker refused
ssl.truststore.certificates password null - broker works
ssl.truststore.location string null - broker works
ssl.truststore.password password null - broker works
ssl.truststore.type string JKS - broker works
telemetry.max.bytes int 1048576 1.. static harmless
transaction.abort.timed.out.transaction.cleanup.interval.ms int 10000 1.. static works
transaction.max.timeout.ms int 900000 1.. static works
transaction.partition.verification.enable boolean true - cluster works
transaction.remove.expired.transaction.cleanup.interval.ms int 3600000 1.. static works
transaction.state.log.load.buffer.size int 5242880 1.. static harmless
transaction.state.log.min.isr int 2 1.. static works
transaction.state.log.num.partitions int 50 1.. static works
transaction.state.log.replication.factor short 3 1.. static works
transaction.state.log.segment.bytes int 104857600 1.. static works
transaction.two.phase.commit.enable boolean false - static works
transactional.id.expiration.ms int 604800000 1.. static works
unclean.leader.election.enable boolean false - cluster works
unclean.leader.election.interval.ms long 300000 1.. internal harmless
unstable.api.versions.enable boolean false - internal works
unstable.feature.versions.enable boolean false - internal refused
""")
