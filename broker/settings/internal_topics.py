"""The settings of the internal topics at their creation, from those of the broker, as in Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...metadata.catalog import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from ...protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """The broker settings for the creation of an internal topic, and its topic settings."""

    partitions: str
    replication_factor: str
    segment_bytes: str
    min_isr: str | None
    configs: Mapping[str, str]


INTERNAL_TOPIC_SETTINGS: Final = {
    CONSUMER_OFFSETS: InternalTopic(
        "offsets.topic.num.partitions",
        "offsets.topic.replication.factor",
        "offsets.topic.segment.bytes",
        None,
        {"compression.type": "producer", "cleanup.policy": "compact"},
    ),
    TRANSACTION_STATE: InternalTopic(
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
        "transaction.state.log.segment.bytes",
        "transaction.state.log.min.isr",
        {
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "unclean.leader.election.enable": "false",
        },
    ),
    SHARE_GROUP_STATE: InternalTopic(
        "share.coordinator.state.topic.num.partitions",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.segment.bytes",
        "share.coordinator.state.topic.min.isr",
        {"compression.type": "producer", "cleanup.policy": "delete", "retention.ms": "-1"},
    ),
}
