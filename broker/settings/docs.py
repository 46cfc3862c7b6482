"""What the settings that Ottla heeds do, a sentence each; imported only when somebody asks.

A broker's setting that is not here is accepted, shown, and has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ...metadata.catalog import ResourceType
from .broker_settings import BROKER_SETTINGS
from .fates import limits
from .topic_settings import BROKER_NAMES, GROUP_SETTINGS, METRICS_SETTINGS, TOPIC_SETTINGS


def documentation(resource_type: int, name: str) -> str | None:
    """What a setting of such a resource does; None for what is no setting of Kafka's."""
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
    """Why a setting that is accepted changes nothing, the end of a sentence."""
    return next(reason for pattern, reason in _HARMLESS_FOR if re.search(pattern, name))


# The first that is found in a name counts.
_HARMLESS_FOR: Final = (
    (r"^sasl\.", "it says how often a login is renewed, and no listener has logins"),
    (r"^delegation\.token\.", "it says how long a token is good, and no token is given out"),
    (r"^remote\.|local\.retention", "there is no tiered storage"),
    (r"^(group\.)?share\.", "share groups are not served"),
    (r"^(group\.)?streams\.", "groups of Kafka Streams' own protocol are not served"),
    (r"threads", "one event loop does the work, and threads come as they are needed"),
    (r"^alter\.log\.dirs\.|^log\.dir\.failure", "there is one data directory"),
    (r"replica\.|replication|^unclean", "nodes of a process share their storage"),
    (r"purgatory", "what waits is woken, and nothing is left to be purged"),
    (r"^(controller|broker|initial\.broker)\.", "the controller is in the same process"),
    (r"^socket\.connection\.setup", "nodes of a process are reached at once or not at all"),
    (r"^controlled\.shutdown", "a node always hands over what it leads before it stops"),
    (r"^add\.partitions\.to\.txn", "a producer waits for nothing that would be asked again"),
    (r"^(metadata\.max\.idle|internal\.metadata)", "no other node reads the metadata log"),
    (r"^kafka\.metrics|^metrics\.", "the metrics page counts from the start on"),
    (r"^telemetry\.|^(interval\.ms|match|metrics)$", "clients are not asked for their metrics"),
    (r"load\.buffer\.size|^log\.cleaner\.io\.buffer", "logs are read in steps of their own size"),
    (r"^queued\.max\.requests", "requests wait in their connections, each for its turn"),
    (r"^offsets\.commit\.timeout", "no commit waits for a replica"),
    (r"compression\.codec", "offsets are written as they are"),
    (r"^log\.flush\.start\.offset", "it is written with log.flush.offset.checkpoint.interval.ms"),
    (r"^early\.start|^server\.max", "all listeners open when the broker is ready"),
)

BROKER_DOCS: Final[Mapping[str, str]] = {
    "advertised.listeners": (
        "What clients are told to connect to, when that is not what listeners says."
    ),
    "authorizer.class.name": (
        "Who decides what clients may do: nobody, when empty, or Kafka's StandardAuthorizer."
    ),
    "auto.leader.rebalance.enable": (
        "Whether a node of several leads again what it led before it stopped."
    ),
    "auto.create.topics.enable": (
        "Whether a topic is made when somebody asks for one that does not exist."
    ),
    "broker.id": "The same as node.id, under its older name.",
    "broker.rack": "The rack the broker says it is in, for clients that choose replicas by it.",
    "compression.gzip.level": (
        "How hard gzip works when the broker compresses; -1 leaves it to gzip."
    ),
    "compression.lz4.level": "How hard lz4 works when the broker compresses.",
    "compression.type": (
        "How batches are kept: compressed in this way, or as the producer sent them."
    ),
    "compression.zstd.level": "How hard zstd works when the broker compresses.",
    "connections.max.idle.ms": "After how long without a request a connection is closed.",
    "controller.quota.window.num": (
        "How many samples the quotas of topics made and deleted are measured over."
    ),
    "controller.quota.window.size.seconds": "How long each of those samples is.",
    "controller.listener.names": (
        "Which of the listeners are the controllers'; Ottla does not open them."
    ),
    "controller.quorum.bootstrap.servers": (
        "Where the controllers are; it may name one, for Ottla is the only one of its cluster."
    ),
    "controller.quorum.voters": (
        "The controllers that vote, as ID@HOST:PORT; it may name one, whose id is node.id."
    ),
    "default.replication.factor": "How many replicas a topic has that is made without saying so.",
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": "How many bytes of records one answer to a Fetch has at most.",
    "group.consumer.assignors": (
        "The assignors that consumer groups can choose from, the default one first."
    ),
    "group.consumer.heartbeat.interval.ms": (
        "How often a member of a consumer group is to send a heartbeat."
    ),
    "group.consumer.max.heartbeat.interval.ms": (
        "The longest heartbeat interval a consumer group may be given."
    ),
    "group.consumer.max.session.timeout.ms": (
        "The longest session timeout a consumer group may be given."
    ),
    "group.consumer.max.size": "How many members a consumer group may have.",
    "group.consumer.migration.policy": (
        "Whether groups may change between the classic and the consumer protocol."
    ),
    "group.consumer.min.heartbeat.interval.ms": (
        "The shortest heartbeat interval a consumer group may be given."
    ),
    "group.consumer.min.session.timeout.ms": (
        "The shortest session timeout a consumer group may be given."
    ),
    "group.consumer.regex.refresh.interval.ms": (
        "How often topics are matched again with the regular expressions of consumer groups."
    ),
    "group.consumer.session.timeout.ms": (
        "After how long without a heartbeat a member of a consumer group is gone."
    ),
    "group.coordinator.append.linger.ms": (
        "How long answers are held back that changed a consumer group, or gave out assignments."
    ),
    "group.coordinator.rebalance.protocols": "Which group protocols are served.",
    "group.initial.rebalance.delay.ms": (
        "How long an empty classic group waits for more members before its first assignment."
    ),
    "group.max.session.timeout.ms": (
        "The longest session timeout a member of a classic group may ask for."
    ),
    "group.max.size": "How many members a classic group may have.",
    "group.min.session.timeout.ms": (
        "The shortest session timeout a member of a classic group may ask for."
    ),
    "inter.broker.listener.name": "The listener that nodes use among themselves.",
    "leader.imbalance.check.interval.seconds": "How often preferred replicas are let lead again.",
    "listener.security.protocol.map": (
        "The security protocol of each listener name; PLAINTEXT is what Ottla speaks."
    ),
    "listeners": (
        "Where the broker listens, as NAME://HOST:PORT; no host is every address, port 0 a "
        "free port."
    ),
    "log.cleaner.backoff.ms": "How long the cleaner rests when no log is worth compacting.",
    "log.cleaner.dedupe.buffer.size": (
        "How much memory the keys of the logs that are being compacted may take."
    ),
    "log.cleaner.delete.retention.ms": (
        "How long the mark of a deleted key stays in a compacted log."
    ),
    "log.cleaner.enable": "Whether compacted topics are compacted.",
    "log.cleaner.io.buffer.load.factor": (
        "How much of the memory for keys is filled; the rest of the log waits for another round."
    ),
    "log.cleaner.io.max.bytes.per.second": (
        "How many bytes a second the cleaner reads and writes at most."
    ),
    "log.cleaner.max.compaction.lag.ms": "How long a record may stay uncompacted at most.",
    "log.cleaner.min.cleanable.ratio": (
        "How much of a log must be uncompacted before it is compacted."
    ),
    "log.cleaner.min.compaction.lag.ms": "How long a record stays uncompacted at least.",
    "log.cleaner.threads": "How many logs are compacted side by side.",
    "log.cleanup.policy": "What becomes of old segments: delete them, compact them, or both.",
    "log.dir": "The directory of the logs when log.dirs is not set.",
    "log.dirs": "The directory of the logs; Ottla keeps everything in one.",
    "log.flush.interval.messages": (
        "After how many records a log is forced to disk; 1 is each append."
    ),
    "log.flush.interval.ms": "How long appended records may wait to be forced to disk.",
    "log.flush.offset.checkpoint.interval.ms": (
        "How often the recovery points of the logs are written down."
    ),
    "log.flush.scheduler.interval.ms": "How often it is looked for logs to force to disk.",
    "log.index.interval.bytes": "How many bytes of a segment lie between two entries of its index.",
    "log.index.size.max.bytes": "How large an index may become before its segment is closed.",
    "log.initial.task.delay.ms": "How long retention and flushes by time wait after the start.",
    "log.message.timestamp.after.max.ms": (
        "How far after the broker's time a record's timestamp may be."
    ),
    "log.message.timestamp.before.max.ms": (
        "How far before the broker's time a record's timestamp may be."
    ),
    "log.message.timestamp.type": (
        "Whether a record has its producer's time or the time of its append."
    ),
    "log.preallocate": "Whether a new segment takes its whole size on disk at once.",
    "log.retention.bytes": (
        "How large a partition may become before its oldest segments go; -1 is no limit."
    ),
    "log.retention.check.interval.ms": (
        "How often it is looked for segments that are too old or too many."
    ),
    "log.retention.hours": "How many hours records are kept, when neither minutes nor ms are set.",
    "log.retention.minutes": "How many minutes records are kept, when log.retention.ms is not set.",
    "log.retention.ms": "How long records are kept; -1 is for ever.",
    "log.roll.hours": "After how many hours a segment is closed, when log.roll.ms is not set.",
    "log.roll.jitter.hours": "How many hours earlier a segment may be closed, when no ms are set.",
    "log.roll.jitter.ms": "How much earlier, by chance, a segment may be closed.",
    "log.roll.ms": "After which time a segment is closed although it is not full.",
    "log.segment.bytes": "How large a segment becomes before the next one is begun.",
    "log.segment.delete.delay.ms": "How long a deleted segment's files stay on disk.",
    "max.connection.creation.rate": (
        "How many connections a second are taken up; those beyond it wait."
    ),
    "max.connections": "How many connections the broker has at most.",
    "max.connections.per.ip": "How many connections one address may have.",
    "max.connections.per.ip.overrides": "Other limits for some addresses, as HOST:NUMBER.",
    "max.incremental.fetch.session.cache.slots": "How many incremental fetch sessions are kept.",
    "max.request.partition.size.limit": (
        "How many partitions one DescribeTopicPartitions answers at most."
    ),
    "message.max.bytes": "How large a batch of records may be.",
    "metadata.log.max.record.bytes.between.snapshots": (
        "After how many bytes of changes to topics and settings a snapshot of all is written."
    ),
    "metadata.log.max.snapshot.interval.ms": (
        "After which time with changes a snapshot is written; 0 is by bytes alone."
    ),
    "metadata.log.segment.bytes": "How large a segment of the metadata log becomes.",
    "metadata.log.segment.ms": "After which time a segment of the metadata log is closed.",
    "metadata.max.retention.bytes": (
        "How large the metadata log and its snapshots may become before the oldest go."
    ),
    "metadata.max.retention.ms": (
        "How old a snapshot may become before it goes, and the log up to the next one."
    ),
    "min.insync.replicas": "How many replicas must have a batch before acks=all is answered.",
    "node.id": "The number of this node in its cluster.",
    "num.partitions": "How many partitions a topic has that is made without saying so.",
    "offset.metadata.max.bytes": "How long the text beside a committed offset may be.",
    "offsets.retention.check.interval.ms": "How often it is looked for offsets to forget.",
    "offsets.retention.minutes": "How long offsets are kept once their group is empty.",
    "offsets.topic.num.partitions": "How many partitions the offsets' topic has.",
    "offsets.topic.replication.factor": "How many replicas the offsets' topic has.",
    "offsets.topic.segment.bytes": "How large a segment of the offsets' topic becomes.",
    "process.roles": "What the process is; it must be broker,controller, for Ottla is both.",
    "producer.id.expiration.check.interval.ms": "How often it is looked for producers to forget.",
    "producer.id.expiration.ms": "How long a partition remembers a producer that is silent.",
    "queued.max.request.bytes": (
        "How much memory all connections hold of requests not served yet before large ones wait; "
        "-1: 224 MB, or two of the largest requests."
    ),
    "quota.window.num": "How many samples the use of quotas is measured over.",
    "quota.window.size.seconds": "How long each of those samples is.",
    "request.timeout.ms": "How long one node waits for another's answer.",
    "security.inter.broker.protocol": (
        "The security protocol between nodes, where no listener is named for it."
    ),
    "share.coordinator.state.topic.min.isr": "The min.insync.replicas of share groups' topic.",
    "share.coordinator.state.topic.num.partitions": (
        "How many partitions the topic of share groups' state has."
    ),
    "share.coordinator.state.topic.replication.factor": (
        "How many replicas the topic of share groups' state has."
    ),
    "share.coordinator.state.topic.segment.bytes": (
        "How large a segment of the topic of share groups' state becomes."
    ),
    "socket.listen.backlog.size": "How many connections may wait to be accepted.",
    "socket.receive.buffer.bytes": (
        "The receive buffer of a connection; -1 leaves it to the system."
    ),
    "socket.request.max.bytes": "How large a request may be; a larger one closes its connection.",
    "socket.send.buffer.bytes": "The send buffer of a connection; -1 leaves it to the system.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": (
        "How often it is looked for transactions past their timeout."
    ),
    "transaction.max.timeout.ms": "The longest transaction timeout a producer may ask for.",
    "transaction.partition.verification.enable": (
        "Whether a transactional batch is refused when its partition was not added."
    ),
    "transaction.remove.expired.transaction.cleanup.interval.ms": (
        "How often it is looked for transactional ids to forget."
    ),
    "transaction.state.log.min.isr": "The min.insync.replicas of the transactions' topic.",
    "transaction.state.log.num.partitions": "How many partitions the transactions' topic has.",
    "transaction.state.log.replication.factor": "How many replicas the transactions' topic has.",
    "transaction.state.log.segment.bytes": (
        "How large a segment of the transactions' topic becomes."
    ),
    "transaction.two.phase.commit.enable": (
        "Whether a producer may have transactions without a timeout, for two-phase commit "
        "(InitProducerId 6, which unstable.api.versions.enable offers)."
    ),
    "transactional.id.expiration.ms": (
        "How long a transactional id without a transaction is remembered."
    ),
    "unclean.leader.election.enable": (
        "Whether a replica that is behind may become leader, losing what it lacks."
    ),
    "unstable.api.versions.enable": (
        "Whether versions of APIs are offered that Kafka has not released: InitProducerId 6."
    ),
}

TOPIC_DOCS: Final[Mapping[str, str]] = {
    "internal.segment.bytes": "The size of a segment where segment.bytes would be too small.",
}

GROUP_DOCS: Final[Mapping[str, str]] = {
    "consumer.heartbeat.interval.ms": "How often a member of this group is to send a heartbeat.",
    "consumer.session.timeout.ms": (
        "After how long without a heartbeat a member of this group is gone."
    ),
}
