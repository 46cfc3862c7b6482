"""What may differ between two brokers that behave the same, with reasons; what is asked again.

A rule names an API and a field by patterns with `*`. The path of a field has no indexes:
`topics.partitions.leader_epoch`.
"""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase
from functools import cache
from typing import Final, NamedTuple


class How(Enum):
    """How two values of a field are compared."""

    IGNORED = "ignored"
    TIME = "two times of the same five minutes are equal"


class DiffRule(NamedTuple):
    """A field that may differ."""

    api: str
    path: str
    how: How
    reason: str


RULES: Final = (
    DiffRule("*", "throttle_time_ms", How.IGNORED, "each broker measures its own load"),
    DiffRule("*", "*error_message", How.IGNORED, "texts for people; clients decide by codes"),
    DiffRule("*", "*host", How.IGNORED, "the address of each broker"),
    DiffRule("*", "*port", How.IGNORED, "the address of each broker"),
    DiffRule("*", "*rack", How.IGNORED, "a setting of each broker"),
    DiffRule("*", "*timestamp*", How.TIME, "each broker has its own clock"),
    DiffRule("*", "*_time_ms", How.TIME, "each broker has its own clock"),
    DiffRule("*", "*node_endpoints*", How.IGNORED, "the address of each broker"),
    DiffRule("*", "*documentation", How.IGNORED, "texts for people"),
    DiffRule("ApiVersions", "finalized_features_epoch", How.IGNORED,
         "the offset of the last record of the metadata log"),
    DiffRule("DescribeLogDirs", "results.log_dir", How.IGNORED, "a path of each machine"),
    DiffRule("DescribeLogDirs", "results.*_bytes", How.IGNORED, "the disk of each machine"),
    DiffRule("DescribeProducers", "*coordinator_epoch", How.IGNORED,
         "counts the elections of each broker since its first start"),
    DiffRule("DescribeQuorum", "topics.partitions.*", How.IGNORED,
         "offsets and epochs of each broker's own metadata log"),
    DiffRule("DescribeQuorum", "nodes.*", How.IGNORED, "the controllers of each cluster"),
    DiffRule("GetTelemetrySubscriptions", "subscription_id", How.IGNORED,
         "a checksum with the random id of the client"),
)  # fmt: skip

# Settings of a machine or of a start, in answers of DescribeConfigs.
OWN_SETTINGS: Final = (
    "*listener*", "*log.dir*", "node.id", "broker.id", "process.roles", "controller.*", "ssl.*",
    "sasl.*", "broker.rack", "metadata.log.*", "*replication.factor", "*min.isr",
)  # fmt: skip

TRANSIENT: Final = frozenset({
    "LEADER_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER", "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS",
    "UNKNOWN_LEADER_EPOCH", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID",
    "REPLICA_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE", "UNSTABLE_OFFSET_COMMIT",
})  # fmt: skip
"""Errors of a broker whose parts do not know yet what one of them decided.

A side that alone has one is asked again until it has not.
"""

SETTLING: Final = frozenset({
    "ConsumerGroupDescribe", "DescribeAcls", "DescribeClientQuotas", "DescribeCluster",
    "DescribeConfigs", "DescribeGroups", "DescribeLogDirs", "DescribeProducers",
    "DescribeShareGroupOffsets",
    "DescribeTopicPartitions", "DescribeTransactions", "DescribeUserScramCredentials",
    "FindCoordinator", "Heartbeat", "ListConfigResources", "ListGroups", "ListOffsets",
    "ListPartitionReassignments", "ListTransactions", "Metadata", "OffsetFetch",
    "OffsetForLeaderEpoch", "ShareGroupDescribe", "StreamsGroupDescribe",
})  # fmt: skip
"""Requests that change nothing: with different answers both sides are asked again for a while.

Kafka's parts learn of changes one after the other, and clients move at different moments of a
rebalance, so two right answers may differ for some milliseconds.
"""

SECRET: Final = frozenset({
    "SaslAuthenticate", "AlterUserScramCredentials", "CreateDelegationToken",
    "DescribeDelegationToken", "RenewDelegationToken", "ExpireDelegationToken",
    "AlterConfigs", "IncrementalAlterConfigs",
})  # fmt: skip
"""APIs whose frames may hold passwords, tokens or secret settings: a report has none of them."""

NOT_SERVED: Final = {
    "apis": "APIs between Kafka's own nodes",
    "kraft.version": "Ottla has no quorum of controllers",
}


@cache
def rule_for(api: str, path: str) -> DiffRule | None:
    """The rule for a field; None if it must be equal."""
    for rule in RULES:
        if fnmatchcase(api, rule.api) and fnmatchcase(path, rule.path):
            return rule
    return None


def is_own_setting(name: str) -> bool:
    """Whether a setting describes the machine, and not the behaviour, of a broker."""
    return any(fnmatchcase(name, pattern) for pattern in OWN_SETTINGS)
