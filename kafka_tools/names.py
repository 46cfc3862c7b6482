"""The names of the tools: of their scripts, and of the classes that Kafka's scripts run."""

from __future__ import annotations

from typing import Final

TOOLS: Final = {
    "kafka-acls": "acls",
    "kafka-broker-api-versions": "broker_api_versions",
    "kafka-client-metrics": "client_metrics",
    "kafka-cluster": "cluster",
    "kafka-configs": "configs",
    "kafka-console-consumer": "records.console_consumer",
    "kafka-console-producer": "records.console_producer",
    "kafka-console-share-consumer": "records.console_share_consumer",
    "kafka-consumer-groups": "groups.consumer_groups",
    "kafka-consumer-perf-test": "measuring.consumer_perf_test",
    "kafka-delegation-tokens": "delegation_tokens",
    "kafka-delete-records": "records.delete_records",
    "kafka-dump-log": "records.dump_log",
    "kafka-e2e-latency": "measuring.e2e_latency",
    "kafka-features": "features",
    "kafka-get-offsets": "records.get_offsets",
    "kafka-groups": "groups.groups",
    "kafka-leader-election": "leader_election",
    "kafka-log-dirs": "log_dirs",
    "kafka-metadata-quorum": "metadata_quorum",
    "kafka-producer-perf-test": "measuring.producer_perf_test",
    "kafka-ready": "ready",
    "kafka-reassign-partitions": "reassign_partitions",
    "kafka-run-class": "run_class",
    "kafka-share-consumer-perf-test": "measuring.share_consumer_perf_test",
    "kafka-share-groups": "groups.share_groups",
    "kafka-storage": "storage",
    "kafka-streams-application-reset": "groups.streams_application_reset",
    "kafka-streams-groups": "groups.streams_groups",
    "kafka-topics": "topics",
    "kafka-transactions": "transactions",
    "kafka-verifiable-consumer": "measuring.verifiable_consumer",
    "kafka-verifiable-producer": "measuring.verifiable_producer",
    "cub": "cub",
}
"""The module of each tool by its name."""

_PACKAGE: Final = "org.apache.kafka.tools"
CLASSES: Final = {
    f"{_PACKAGE}.AclCommand": "kafka-acls",
    f"{_PACKAGE}.BrokerApiVersionsCommand": "kafka-broker-api-versions",
    f"{_PACKAGE}.ClientMetricsCommand": "kafka-client-metrics",
    f"{_PACKAGE}.ClusterTool": "kafka-cluster",
    f"{_PACKAGE}.ConfigCommand": "kafka-configs",
    f"{_PACKAGE}.consumer.ConsoleConsumer": "kafka-console-consumer",
    f"{_PACKAGE}.ConsoleProducer": "kafka-console-producer",
    f"{_PACKAGE}.consumer.ConsoleShareConsumer": "kafka-console-share-consumer",
    f"{_PACKAGE}.consumer.group.ConsumerGroupCommand": "kafka-consumer-groups",
    f"{_PACKAGE}.ConsumerPerformance": "kafka-consumer-perf-test",
    f"{_PACKAGE}.DelegationTokenCommand": "kafka-delegation-tokens",
    f"{_PACKAGE}.DeleteRecordsCommand": "kafka-delete-records",
    f"{_PACKAGE}.DumpLogSegments": "kafka-dump-log",
    f"{_PACKAGE}.EndToEndLatency": "kafka-e2e-latency",
    f"{_PACKAGE}.FeatureCommand": "kafka-features",
    f"{_PACKAGE}.GetOffsetShell": "kafka-get-offsets",
    f"{_PACKAGE}.GroupsCommand": "kafka-groups",
    f"{_PACKAGE}.LeaderElectionCommand": "kafka-leader-election",
    f"{_PACKAGE}.LogDirsCommand": "kafka-log-dirs",
    f"{_PACKAGE}.MetadataQuorumCommand": "kafka-metadata-quorum",
    f"{_PACKAGE}.ProducerPerformance": "kafka-producer-perf-test",
    f"{_PACKAGE}.reassign.ReassignPartitionsCommand": "kafka-reassign-partitions",
    f"{_PACKAGE}.consumer.group.ShareGroupCommand": "kafka-share-groups",
    f"{_PACKAGE}.ShareConsumerPerformance": "kafka-share-consumer-perf-test",
    "kafka.tools.StorageTool": "kafka-storage",
    f"{_PACKAGE}.StreamsResetter": "kafka-streams-application-reset",
    f"{_PACKAGE}.streams.StreamsGroupCommand": "kafka-streams-groups",
    f"{_PACKAGE}.TopicCommand": "kafka-topics",
    f"{_PACKAGE}.TransactionsCommand": "kafka-transactions",
    f"{_PACKAGE}.VerifiableConsumer": "kafka-verifiable-consumer",
    f"{_PACKAGE}.VerifiableProducer": "kafka-verifiable-producer",
}
"""The tool of each class of Kafka 4.4."""


def tool_of_class(name: str) -> str | None:
    """The tool of a class, also by its name in an earlier release (kafka.tools, kafka.admin)."""
    if name in CLASSES or not name.startswith(("kafka.", f"{_PACKAGE}.")):
        return CLASSES.get(name)
    by_last = {each.rpartition(".")[2]: tool for each, tool in CLASSES.items()}
    return by_last.get(name.rpartition(".")[2])
