"""The documentation of settings: DescribeConfigs answers it; docs/reference/settings.md shows it.

Each setting that works in Ottla has one sentence here. For the others the sentence says which
values are accepted, or why the setting has no effect. This module is imported at its first use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ...metadata.catalog import ResourceType
from .broker_settings import BROKER_SETTINGS
from .group_docs import COORDINATOR_DOCS, GROUP_DOCS
from .support import limits
from .topic_settings import BROKER_NAMES, GROUP_SETTINGS, METRICS_SETTINGS, TOPIC_SETTINGS


def documentation(resource_type: int, name: str) -> str | None:
    """The documentation of a setting of a resource type; None if Kafka has no such setting."""
    match resource_type:
        case ResourceType.TOPIC:
            setting = TOPIC_SETTINGS.get(name)
            found = TOPIC_DOCS.get(name) or BROKER_DOCS.get(BROKER_NAMES.get(name, ""))
        case ResourceType.GROUP:
            setting, found = GROUP_SETTINGS.get(name), GROUP_DOCS.get(name)
        case ResourceType.CLIENT_METRICS:
            setting, found = METRICS_SETTINGS.get(name), None
        case _:
            setting, found = BROKER_SETTINGS.get(name), BROKER_DOCS.get(name)
    if found is not None or setting is None:
        return found
    why_no_other = limits(setting)
    if why_no_other is not None:
        return f"It {why_no_other}."
    return f"Known to Apache Kafka; it has no meaning in Ottla: {why_harmless(name)}."


def why_harmless(name: str) -> str:
    """Why a setting that is accepted has no effect, as the end of a sentence."""
    return next(reason for pattern, reason in _HARMLESS_FOR if re.search(pattern, name))


# Reasons by a pattern in the name of the setting; the first match counts.
_HARMLESS_FOR: Final = (
    (r"^sasl\.", "it is for logins of the broker itself, which has none"),
    (r"(^|^log\.)remote\.|local\.retention|tiered", "there is no tiered storage"),
    (r"assignor\.offload|threads", "one event loop does the work and starts threads as needed"),
    (r"^alter\.log\.dirs\.|^log\.dir\.failure", "there is one data directory"),
    (r"replica\.|replication|^unclean", "nodes of a process share their storage"),
    (r"cached\.buffer", "a coordinator keeps no buffer of records between two appends"),
    (r"^share\.coordinator\.append", "records of share groups are appended at once"),
    (r"purgatory", "requests that have ended do not stay in a purgatory"),
    (r"^(controller|broker|initial\.broker)\.", "the controller is in the same process"),
    (r"^socket\.connection\.setup", "nodes of a process are reached at once or not at all"),
    (r"^controlled\.shutdown", "a node always hands its partitions over before it stops"),
    (r"^add\.partitions\.to\.txn", "a produce request needs no retries to verify its partitions"),
    (r"^(metadata\.max\.idle|internal\.metadata)", "no other node reads the metadata log"),
    (r"^kafka\.metrics|^metrics\.", "the metrics page counts from the start of the process"),
    (r"^telemetry\.|^(interval\.ms|match|metrics)$", "the broker collects no metrics of clients"),
    (r"load\.buffer\.size|^log\.cleaner\.io\.buffer", "logs are read in steps of a fixed size"),
    (r"^queued\.max\.requests", "requests wait in their connections, not in a queue"),
    (r"^offsets\.commit\.timeout|write\.timeout", "no write waits for a replica"),
    (r"compression\.codec", "offsets are written uncompressed"),
    (r"^log\.flush\.start\.offset", "it is written with log.flush.offset.checkpoint.interval.ms"),
    (r"^early\.start|^server\.max", "all listeners open when the broker is ready"),
)

BROKER_DOCS: Final[Mapping[str, str]] = {
    "advertised.listeners": "The listeners that clients connect to, if they differ from listeners.",
    "authorizer.class.name": (
        "The authorizer: Kafka's StandardAuthorizer, or empty to allow everything."
    ),
    "auto.create.topics.enable": (
        "Whether a request for a topic that does not exist creates the topic."
    ),
    "auto.leader.rebalance.enable": (
        "Whether preferred replicas become leaders again once their node is back."
    ),
    "broker.heartbeat.interval.ms": (
        "The interval of the signs of life of a process that has joined the one with the cluster."
    ),
    "broker.id": "The older name of node.id.",
    "broker.rack": "The rack of the broker, for clients that choose replicas by rack.",
    "broker.session.timeout.ms": (
        "The time after which a joined process that is silent has lost its node."
    ),
    "compression.gzip.level": (
        "The gzip level the broker compresses with; -1 is gzip's own default."
    ),
    "compression.lz4.level": "The lz4 level the broker compresses with.",
    "compression.type": (
        "The compression of stored batches: a codec, or producer to keep the producer's."
    ),
    "compression.zstd.level": "The zstd level the broker compresses with.",
    "config.providers": (
        "Names of providers of values in files and variables, each with its class in"
        " config.providers.NAME.class: Kafka's own three. It works at the start."
    ),
    "connection.failed.authentication.delay.ms": (
        "The delay before a failed login is answered and its connection closed."
    ),
    "connections.max.idle.ms": "The time without a request after which a connection is closed.",
    "connections.max.reauth.ms": (
        "The time after which a SASL session must be authenticated again; 0 for no limit."
    ),
    "controller.listener.names": (
        "The names of the controllers' listeners; other processes of the cluster connect to it."
    ),
    "controller.quorum.bootstrap.servers": (
        "The address of the process that runs the cluster, for one that only is a broker."
    ),
    "controller.quorum.voters": (
        "The controllers as ID@HOST:PORT; the process with the lowest id runs the cluster."
    ),
    "controller.quota.window.num": (
        "The number of samples for the quotas of topics created and deleted."
    ),
    "controller.quota.window.size.seconds": "The length of each of those samples.",
    "cordoned.log.dirs": (
        "The directory of the logs if new partitions may not be placed in it, or * for all."
    ),
    "default.replication.factor": "The replication factor of topics that are created without one.",
    "delegation.token.expiry.check.interval.ms": (
        "The interval at which expired delegation tokens are removed."
    ),
    "delegation.token.expiry.time.ms": (
        "The time after which a delegation token expires unless it is renewed."
    ),
    "delegation.token.max.lifetime.ms": (
        "The time after which a delegation token cannot be renewed."
    ),
    "delegation.token.secret.key": (
        "The secret that delegation tokens are made with; left out, there are none."
    ),
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": "The maximum bytes of records in one Fetch response.",
    "group.coordinator.append.linger.ms": (
        "The delay of responses that change a consumer group or deliver an assignment; -1 is as "
        "short as possible."
    ),
    "group.coordinator.rebalance.protocols": "The group protocols that are served.",
    "group.initial.rebalance.delay.ms": (
        "The time an empty classic group waits for more members before its first assignment."
    ),
    "group.max.session.timeout.ms": "The maximum session timeout of a member of a classic group.",
    "group.max.size": "The maximum number of members of a classic group.",
    "group.min.session.timeout.ms": "The minimum session timeout of a member of a classic group.",
    "inter.broker.listener.name": "The listener for connections between nodes.",
    "leader.imbalance.check.interval.seconds": (
        "The interval at which preferred replicas become leaders again."
    ),
    "listener.security.protocol.map": (
        "The security protocol of each listener name; Ottla speaks all four."
    ),
    "listeners": (
        "The listeners of the broker, as NAME://HOST:PORT; no host means every address, port 0 a "
        "free port."
    ),
    "log.cleaner.backoff.ms": "The time the cleaner sleeps if there is no log to compact.",
    "log.cleaner.dedupe.buffer.size": "The maximum memory for the keys of logs under compaction.",
    "log.cleaner.delete.retention.ms": (
        "The time the tombstone of a deleted key stays in a compacted log."
    ),
    "log.cleaner.enable": "Whether compacted topics are compacted.",
    "log.cleaner.io.buffer.load.factor": (
        "The share of the memory for keys that is filled; the next compaction does the rest of "
        "the log."
    ),
    "log.cleaner.io.max.bytes.per.second": (
        "The maximum bytes the cleaner reads and writes per second."
    ),
    "log.cleaner.max.compaction.lag.ms": "The maximum time a record stays uncompacted.",
    "log.cleaner.min.cleanable.ratio": (
        "The share of a log that must be uncompacted before the log is compacted."
    ),
    "log.cleaner.min.compaction.lag.ms": "The minimum time a record stays uncompacted.",
    "log.cleaner.threads": "The number of logs that are compacted at the same time.",
    "log.cleanup.policy": "What happens to old segments: they are deleted, compacted, or both.",
    "log.dir": "The directory of the logs if log.dirs is not set.",
    "log.dirs": "The directory of the logs; Ottla keeps all its data in one.",
    "log.flush.interval.messages": (
        "The number of records after which a log is flushed to disk; 1 flushes each append."
    ),
    "log.flush.interval.ms": "The maximum time before appended records are flushed to disk.",
    "log.flush.offset.checkpoint.interval.ms": (
        "The interval at which the recovery points of the logs are written."
    ),
    "log.flush.scheduler.interval.ms": "The interval of the check for logs to flush.",
    "log.index.interval.bytes": "The bytes of a segment between two entries of its index.",
    "log.index.size.max.bytes": "The maximum size of an index; a larger one closes its segment.",
    "log.initial.task.delay.ms": (
        "The time from the start to the first run of retention and of flushes by time."
    ),
    "log.message.timestamp.after.max.ms": (
        "The maximum time by which a record's timestamp may be after the broker's time."
    ),
    "log.message.timestamp.before.max.ms": (
        "The maximum time by which a record's timestamp may be before the broker's time."
    ),
    "log.message.timestamp.type": (
        "Whether a record has its producer's timestamp or the time of its append."
    ),
    "log.preallocate": "Whether a new segment takes its full size on disk at once.",
    "log.retention.bytes": (
        "The maximum size of a partition; its oldest segments are deleted beyond it, and -1 means "
        "no limit."
    ),
    "log.retention.check.interval.ms": (
        "The interval of the check for segments to delete by age or size."
    ),
    "log.retention.hours": (
        "The hours records are kept if neither log.retention.minutes nor log.retention.ms is set."
    ),
    "log.retention.minutes": "The minutes records are kept if log.retention.ms is not set.",
    "log.retention.ms": "The time records are kept; -1 means for ever.",
    "log.roll.hours": "The hours after which a segment is closed if log.roll.ms is not set.",
    "log.roll.jitter.hours": (
        "The maximum hours a segment is closed earlier if log.roll.jitter.ms is not set."
    ),
    "log.roll.jitter.ms": "The maximum time, chosen at random, that a segment is closed earlier.",
    "log.roll.ms": "The time after which a segment is closed, even if it is not full.",
    "log.segment.bytes": "The maximum size of a segment.",
    "log.segment.delete.delay.ms": "The time the files of a deleted segment stay on disk.",
    "max.connection.creation.rate": (
        "The maximum number of new connections per second; further ones wait."
    ),
    "max.connections": "The maximum number of connections of the broker.",
    "max.connections.per.ip": "The maximum number of connections from one address.",
    "max.connections.per.ip.overrides": "Other maximums for some addresses, as HOST:NUMBER.",
    "max.decompressed.message.bytes": (
        "The maximum size of each record of a compressed batch, when it is decompressed."
    ),
    "max.incremental.fetch.session.cache.slots": (
        "The maximum number of incremental fetch sessions."
    ),
    "max.request.partition.size.limit": (
        "The maximum number of partitions in one DescribeTopicPartitions response."
    ),
    "message.max.bytes": "The maximum size of a batch of records.",
    "metadata.log.max.record.bytes.between.snapshots": (
        "The bytes of new metadata records after which a snapshot is written."
    ),
    "metadata.log.max.snapshot.interval.ms": (
        "The time after which a snapshot is written if there are new metadata records; 0 means "
        "only by bytes."
    ),
    "metadata.log.segment.bytes": "The maximum size of a segment of the metadata log.",
    "metadata.log.segment.ms": "The time after which a segment of the metadata log is closed.",
    "metadata.max.retention.bytes": (
        "The maximum size of the metadata log and its snapshots; the oldest are deleted beyond it."
    ),
    "metadata.max.retention.ms": (
        "The time a snapshot is kept, and the log up to the next snapshot."
    ),
    "min.insync.replicas": "The minimum number of in-sync replicas for a write with acks=all.",
    "node.id": "The id of this node in its cluster.",
    "num.partitions": "The number of partitions of topics that are created without one.",
    "offset.metadata.max.bytes": "The maximum size of the metadata of a committed offset.",
    "offsets.retention.check.interval.ms": "The interval of the check for expired offsets.",
    "offsets.retention.minutes": "The minutes offsets are kept once their group is empty.",
    "offsets.topic.num.partitions": "The number of partitions of the offsets topic.",
    "offsets.topic.replication.factor": "The replication factor of the offsets topic.",
    "offsets.topic.segment.bytes": "The maximum size of a segment of the offsets topic.",
    "process.roles": "The roles of the process: broker, controller, or both.",
    "producer.id.expiration.check.interval.ms": "The interval of the check for expired producers.",
    "producer.id.expiration.ms": (
        "The time a partition keeps the state of a producer that does not write."
    ),
    "queued.max.request.bytes": (
        "The maximum memory for unserved requests of all connections before large ones wait; -1 "
        "means 224 MB, or two of the largest requests."
    ),
    "quota.window.num": "The number of samples over which quotas are measured.",
    "quota.window.size.seconds": "The length of each of those samples.",
    "request.timeout.ms": "The time a node waits for the response of another node.",
    "sasl.enabled.mechanisms": (
        "The mechanisms of SASL listeners: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER."
    ),
    "sasl.jaas.config": (
        "The JAAS line of a mechanism; with the prefix listener.name.NAME.MECHANISM alone."
    ),
    "sasl.oauthbearer.allow.unverified.audience": (
        "Whether signed tokens of any audience are accepted if "
        "sasl.oauthbearer.expected.audience is empty."
    ),
    "sasl.oauthbearer.allow.unverified.issuer": (
        "Whether signed tokens of any issuer are accepted if sasl.oauthbearer.expected.issuer "
        "is not set."
    ),
    "sasl.oauthbearer.clock.skew.seconds": (
        "The seconds by which the clocks of a token's issuer and of the broker may differ."
    ),
    "sasl.oauthbearer.expected.audience": (
        "The audiences of which a signed token must name one; left out, a token must name none."
    ),
    "sasl.oauthbearer.expected.issuer": (
        "The issuer that a signed token must name; left out, any issuer."
    ),
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": (
        "The time after which the keys of the issuer are read again."
    ),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": (
        "The longest time between two attempts to read the keys of the issuer."
    ),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": (
        "The time after the first failed attempt to read the keys of the issuer."
    ),
    "sasl.oauthbearer.jwks.endpoint.url": (
        "The JSON Web Key Set with the keys of the issuer: a file, http or https URL."
    ),
    "sasl.oauthbearer.scope.claim.name": "The claim of a token that holds its scopes.",
    "sasl.oauthbearer.sub.claim.name": "The claim of a token that holds its principal.",
    "sasl.server.max.receive.size": "The largest request in bytes before and during a login.",
    "security.inter.broker.protocol": (
        "The security protocol between nodes if inter.broker.listener.name is not set."
    ),
    "socket.listen.backlog.size": "The maximum number of connections that wait to be accepted.",
    "socket.receive.buffer.bytes": (
        "The receive buffer of a connection; -1 means the system's default."
    ),
    "socket.request.max.bytes": (
        "The maximum size of a request; a larger one closes its connection."
    ),
    "socket.send.buffer.bytes": "The send buffer of a connection; -1 means the system's default.",
    "ssl.allow.dn.changes": (
        "Whether IncrementalAlterConfigs may set a key store whose certificate has another subject."
    ),
    "ssl.allow.san.changes": (
        "Whether IncrementalAlterConfigs may set a key store whose certificate lacks host names of "
        "the present one."
    ),
    "ssl.cipher.suites": (
        "The cipher suites of clients by their names in Java; empty means all of OpenSSL's."
    ),
    "ssl.client.auth": (
        "Whether clients need a certificate: none, requested or required. For SASL_SSL it counts "
        "only with the prefix of the listener."
    ),
    "ssl.enabled.protocols": "The versions of TLS: TLSv1.2, TLSv1.3 or both.",
    "ssl.endpoint.identification.algorithm": (
        "It must be https or empty. The nodes of a process know each other's listeners in any case."
    ),
    "ssl.key.password": "The password of the private key in the key store.",
    "ssl.keystore.certificate.chain": "The certificates of ssl.keystore.key, in PEM.",
    "ssl.keystore.key": "The private key in PEM, instead of ssl.keystore.location.",
    "ssl.keystore.location": (
        "The file of the private key and its certificates. A changed file is used for the next "
        "connection."
    ),
    "ssl.keystore.password": "The password of the key store.",
    "ssl.keystore.type": "The type of the key store: JKS, PKCS12 or PEM.",
    "ssl.principal.mapping.rules": (
        "Rules that make the name of a principal from the subject of a certificate."
    ),
    "ssl.truststore.certificates": "The trusted certificates in PEM, instead of a file.",
    "ssl.truststore.location": (
        "The file of the certificates that clients' certificates are verified with; by default "
        "those of the system."
    ),
    "ssl.truststore.password": "The password of the trust store.",
    "ssl.truststore.type": "The type of the trust store: JKS, PKCS12 or PEM.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (
        "The interval of the check for transactions past their timeout."
    ),
    "transaction.max.timeout.ms": "The maximum transaction timeout of a producer.",
    "transaction.partition.verification.enable": (
        "Whether a transactional batch is refused if its partition is not in the transaction."
    ),
    "transaction.remove.expired.transaction.cleanup.interval.ms": (
        "The interval of the check for expired transactional ids."
    ),
    "transaction.state.log.min.isr": "The min.insync.replicas of the transaction topic.",
    "transaction.state.log.num.partitions": "The number of partitions of the transaction topic.",
    "transaction.state.log.replication.factor": "The replication factor of the transaction topic.",
    "transaction.state.log.segment.bytes": (
        "The maximum size of a segment of the transaction topic."
    ),
    "transaction.two.phase.commit.enable": (
        "Whether a producer may have transactions without a timeout and may keep a prepared one, "
        "for two-phase commit (InitProducerId 6, which unstable.api.versions.enable offers)."
    ),
    "transactional.id.expiration.ms": "The time a transactional id without a transaction is kept.",
    "unclean.leader.election.enable": (
        "Whether a replica that is not in sync may become leader and lose records."
    ),
    "unstable.api.versions.enable": (
        "Whether API versions are offered that Kafka has not released: InitProducerId 6."
    ),
    **COORDINATOR_DOCS,
}

TOPIC_DOCS: Final[Mapping[str, str]] = {
    "errors.deadletterqueue.group.enable": (
        "Whether share groups may write records that could not be processed to this topic."
    ),
    "internal.segment.bytes": "The size of a segment below the minimum of segment.bytes.",
}
