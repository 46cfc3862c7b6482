"""What a rule may do and Kafka does not, or not yet: the answer to an order names it.

A test of how a client takes a wrong code is legitimate, so such a rule is added all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ...trace.wildcards import fits
from ..rules import rule as rules
from ..rules.rule import RuleSpec, code_of
from ..tracing.sights import api_name

if TYPE_CHECKING:
    from ...broker.cluster import Cluster

_MOST_NAMES: Final = 10
_OF_LEADERS: Final = (
    "Produce Fetch ListOffsets OffsetForLeaderEpoch DeleteRecords DescribeProducers"
)
_OF_GROUPS: Final = (
    "JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit OffsetFetch OffsetDelete DescribeGroups"
    " DeleteGroups ConsumerGroupHeartbeat ConsumerGroupDescribe TxnOffsetCommit ListGroups"
    " ShareGroupHeartbeat ShareGroupDescribe StreamsGroupHeartbeat StreamsGroupDescribe"
    " StreamsGroupTopologyDescriptionUpdate DescribeShareGroupOffsets AlterShareGroupOffsets"
    " DeleteShareGroupOffsets"
)
_HEARTBEATS: Final = "ConsumerGroupHeartbeat ShareGroupHeartbeat StreamsGroupHeartbeat"
_OF_SHARE_STATE: Final = (
    "InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState"
    " ReadShareGroupStateSummary"
)
_OF_TRANSACTIONS: Final = (
    "InitProducerId AddPartitionsToTxn AddOffsetsToTxn EndTxn DescribeTransactions ListTransactions"
)
_OF_PRODUCERS: Final = "InitProducerId AddPartitionsToTxn AddOffsetsToTxn EndTxn"
_OF_COORDINATORS: Final = (
    f"{_OF_GROUPS} {_OF_TRANSACTIONS} {_OF_SHARE_STATE} FindCoordinator WriteTxnMarkers"
)
_OF_SHARE_SESSIONS: Final = "ShareFetch ShareAcknowledge"
_MEMBERS: Final = "SyncGroup Heartbeat OffsetCommit TxnOffsetCommit"

GIVEN_BY: Final[dict[str, str]] = {
    "NOT_LEADER_OR_FOLLOWER": f"{_OF_LEADERS} WriteTxnMarkers {_OF_SHARE_SESSIONS}",
    "FENCED_LEADER_EPOCH": "Fetch ListOffsets OffsetForLeaderEpoch",
    "UNKNOWN_LEADER_EPOCH": "Fetch ListOffsets OffsetForLeaderEpoch",
    "OFFSET_OUT_OF_RANGE": "Fetch DeleteRecords",
    "OFFSET_NOT_AVAILABLE": "Fetch ListOffsets OffsetForLeaderEpoch",
    "LEADER_NOT_AVAILABLE": (
        "Metadata DescribeTopicPartitions Produce Fetch ListOffsets OffsetForLeaderEpoch"
    ),
    "FETCH_SESSION_ID_NOT_FOUND": "Fetch",
    "INVALID_FETCH_SESSION_EPOCH": "Fetch",
    "FETCH_SESSION_TOPIC_ID_ERROR": "Fetch",
    "COORDINATOR_LOAD_IN_PROGRESS": _OF_COORDINATORS,
    "COORDINATOR_NOT_AVAILABLE": _OF_COORDINATORS,
    "NOT_COORDINATOR": _OF_COORDINATORS,
    "UNKNOWN_MEMBER_ID": (
        f"{_MEMBERS} JoinGroup LeaveGroup OffsetFetch {_HEARTBEATS}"
        " StreamsGroupTopologyDescriptionUpdate"
    ),
    "ILLEGAL_GENERATION": _MEMBERS,
    "REBALANCE_IN_PROGRESS": "JoinGroup SyncGroup Heartbeat OffsetCommit TxnOffsetCommit",
    "MEMBER_ID_REQUIRED": "JoinGroup",
    "INCONSISTENT_GROUP_PROTOCOL": "JoinGroup SyncGroup",
    "GROUP_MAX_SIZE_REACHED": f"JoinGroup {_HEARTBEATS}",
    "FENCED_MEMBER_EPOCH": _HEARTBEATS,
    "STALE_MEMBER_EPOCH": "OffsetCommit OffsetFetch TxnOffsetCommit",
    "UNRELEASED_INSTANCE_ID": "ConsumerGroupHeartbeat StreamsGroupHeartbeat",
    "UNSUPPORTED_ASSIGNOR": "ConsumerGroupHeartbeat",
    "UNSTABLE_OFFSET_COMMIT": "OffsetFetch",
    "INVALID_RECORD_STATE": _OF_SHARE_SESSIONS,
    "SHARE_SESSION_NOT_FOUND": _OF_SHARE_SESSIONS,
    "INVALID_SHARE_SESSION_EPOCH": _OF_SHARE_SESSIONS,
    "SHARE_SESSION_LIMIT_REACHED": "ShareFetch",
    "FENCED_STATE_EPOCH": f"{_OF_SHARE_STATE} {_OF_SHARE_SESSIONS}",
    "STREAMS_INVALID_TOPOLOGY": "StreamsGroupHeartbeat",
    "STREAMS_INVALID_TOPOLOGY_EPOCH": "StreamsGroupHeartbeat",
    "STREAMS_TOPOLOGY_FENCED": "StreamsGroupHeartbeat",
    "GROUP_DELETION_FAILED": "DeleteGroups",
    "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED": "StreamsGroupTopologyDescriptionUpdate",
    "CONTROLLER_ID_NOT_REGISTERED": "UnregisterController",
    "REBOOTSTRAP_REQUIRED": "ApiVersions Metadata",
    "PRODUCER_FENCED": f"{_OF_PRODUCERS} TxnOffsetCommit",
    "INVALID_PRODUCER_ID_MAPPING": f"{_OF_PRODUCERS} Produce TxnOffsetCommit",
    "CONCURRENT_TRANSACTIONS": f"{_OF_PRODUCERS} Produce TxnOffsetCommit",
    "TRANSACTION_ABORTABLE": f"{_OF_PRODUCERS} Produce TxnOffsetCommit FindCoordinator",
    "TRANSACTIONAL_ID_NOT_FOUND": "DescribeTransactions",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "Produce",
    "DUPLICATE_SEQUENCE_NUMBER": "Produce",
    "UNKNOWN_PRODUCER_ID": "Produce AddPartitionsToTxn AddOffsetsToTxn EndTxn",
    "MESSAGE_TOO_LARGE": "Produce",
    "RECORD_LIST_TOO_LARGE": "Produce",
    "INVALID_REQUIRED_ACKS": "Produce",
    "NOT_ENOUGH_REPLICAS": "Produce",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "Produce",
    "OFFSET_METADATA_TOO_LARGE": "OffsetCommit TxnOffsetCommit",
    "INVALID_COMMIT_OFFSET_SIZE": "OffsetCommit TxnOffsetCommit",
}
"""Codes that Kafka gives to few APIs, with these; any other code may come to any API."""


def may_be_given(code: Code, api: str) -> bool:
    """Whether Kafka gives a code in an answer of an API, in some version."""
    apis = GIVEN_BY.get(code.name)
    return apis is None or api in apis.split()


def unusual_in(spec: RuleSpec, keys: set[ApiKey], cluster: Cluster) -> Iterator[str]:
    """What is unusual in a rule that can fire.

    Args:
        keys: the APIs that its match can hold for.
    """
    action, match = spec.action, spec.match
    if isinstance(action, rules.Error):
        code = code_of(action.code)
        apis = sorted(map(api_name, keys))
        if not any(may_be_given(code, api) for api in apis):
            given_by = ", ".join(sorted(GIVEN_BY[code.name].split()))
            yield f"Kafka never gives {code.name} to {match.api}, but to {given_by}"
    if match.topic is not None:
        topics = sorted(cluster.catalog.topics)
        if not any(map(fits(match.topic), topics)):
            known = ", ".join(topics[:_MOST_NAMES]) or "none"
            yield f"match.topic: no topic fits {match.topic} yet; topics: {known}"
