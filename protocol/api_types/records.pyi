"""Keys and values of records, and the consumer protocol; made by `make message-types`."""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, Protocol, TypedDict, overload
from uuid import UUID

from ..batch import Bytes

class AbortTransactionRecord(Protocol):
    @property
    def reason(self) -> str | None: ...

class AbortTransactionRecordFields(TypedDict):
    reason: NotRequired[str | None]

class AbortedTxn(Protocol):
    @property
    def producer_id(self) -> int: ...
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def last_stable_offset(self) -> int: ...

class AbortedTxnFields(TypedDict):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

class AccessControlEntryRecord(Protocol):
    @property
    def id(self) -> UUID | None: ...
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def pattern_type(self) -> int: ...
    @property
    def principal(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def operation(self) -> int: ...
    @property
    def permission_type(self) -> int: ...

class AccessControlEntryRecordFields(TypedDict):
    id: UUID | None
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

class BeginTransactionRecord(Protocol):
    @property
    def name(self) -> str | None: ...

class BeginTransactionRecordFields(TypedDict):
    name: NotRequired[str | None]

class BrokerRegistrationChangeRecord(Protocol):
    @property
    def broker_id(self) -> int: ...
    @property
    def broker_epoch(self) -> int: ...
    @property
    def fenced(self) -> int: ...
    @property
    def in_controlled_shutdown(self) -> int: ...  # 1+
    @property
    def log_dirs(self) -> Sequence[UUID | None]: ...  # 2+
    @property
    def cordoned_log_dirs(self) -> Sequence[UUID | None] | None: ...  # 3

class BrokerRegistrationChangeRecordFields(TypedDict):
    broker_id: int
    broker_epoch: int
    fenced: NotRequired[int]
    in_controlled_shutdown: NotRequired[int]  # 1+
    log_dirs: NotRequired[list[UUID | None]]  # 2+
    cordoned_log_dirs: NotRequired[list[UUID | None] | None]  # 3

class ClearElrRecord(Protocol):
    @property
    def topic_name(self) -> str: ...

class ClearElrRecordFields(TypedDict):
    topic_name: str

class EntityData(Protocol):
    @property
    def entity_type(self) -> str: ...
    @property
    def entity_name(self) -> str | None: ...

class ClientQuotaRecord(Protocol):
    @property
    def entity(self) -> Sequence[EntityData]: ...
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def remove(self) -> bool: ...

class EntityDataFields(TypedDict):
    entity_type: str
    entity_name: NotRequired[str | None]

class ClientQuotaRecordFields(TypedDict):
    entity: list[EntityDataFields]
    key: str
    value: float
    remove: bool

class ConfigRecord(Protocol):
    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str | None: ...

class ConfigRecordFields(TypedDict):
    resource_type: int
    resource_name: str
    name: str
    value: NotRequired[str | None]

class ConsumerGroupCurrentMemberAssignmentKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class ConsumerGroupCurrentMemberAssignmentKeyFields(TypedDict):
    group_id: str
    member_id: str

class ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[int]: ...
    @property
    def assignment_epochs(self) -> Sequence[int] | None: ...

class ConsumerGroupCurrentMemberAssignmentValue(Protocol):
    @property
    def member_epoch(self) -> int: ...
    @property
    def previous_member_epoch(self) -> int: ...
    @property
    def state(self) -> int: ...
    @property
    def assigned_partitions(
        self,
    ) -> Sequence[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]: ...
    @property
    def partitions_pending_revocation(
        self,
    ) -> Sequence[ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]: ...

class ConsumerGroupCurrentMemberAssignmentValueTopicPartitionsFields(TypedDict):
    topic_id: UUID | None
    partitions: list[int]
    assignment_epochs: NotRequired[list[int] | None]

class ConsumerGroupCurrentMemberAssignmentValueFields(TypedDict):
    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValueTopicPartitionsFields]
    partitions_pending_revocation: list[
        ConsumerGroupCurrentMemberAssignmentValueTopicPartitionsFields
    ]

class ConsumerGroupMemberMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class ConsumerGroupMemberMetadataKeyFields(TypedDict):
    group_id: str
    member_id: str

class ClassicProtocol(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def metadata(self) -> bytes: ...

class ClassicMemberMetadata(Protocol):
    @property
    def session_timeout_ms(self) -> int: ...
    @property
    def supported_protocols(self) -> Sequence[ClassicProtocol]: ...

class ConsumerGroupMemberMetadataValue(Protocol):
    @property
    def instance_id(self) -> str | None: ...
    @property
    def rack_id(self) -> str | None: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def subscribed_topic_names(self) -> Sequence[str]: ...
    @property
    def subscribed_topic_regex(self) -> str | None: ...
    @property
    def rebalance_timeout_ms(self) -> int: ...
    @property
    def server_assignor(self) -> str | None: ...
    @property
    def classic_member_metadata(self) -> ClassicMemberMetadata | None: ...

class ClassicProtocolFields(TypedDict):
    name: str
    metadata: bytes

class ClassicMemberMetadataFields(TypedDict):
    session_timeout_ms: int
    supported_protocols: list[ClassicProtocolFields]

class ConsumerGroupMemberMetadataValueFields(TypedDict):
    instance_id: NotRequired[str | None]
    rack_id: NotRequired[str | None]
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: NotRequired[str | None]
    rebalance_timeout_ms: NotRequired[int]
    server_assignor: NotRequired[str | None]
    classic_member_metadata: NotRequired[ClassicMemberMetadataFields | None]

class ConsumerGroupMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...

class ConsumerGroupMetadataKeyFields(TypedDict):
    group_id: str

class ConsumerGroupMetadataValue(Protocol):
    @property
    def epoch(self) -> int: ...
    @property
    def metadata_hash(self) -> int: ...

class ConsumerGroupMetadataValueFields(TypedDict):
    epoch: int
    metadata_hash: NotRequired[int]

class ConsumerGroupPartitionMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...

class ConsumerGroupPartitionMetadataKeyFields(TypedDict):
    group_id: str

class PartitionMetadata(Protocol):
    @property
    def partition(self) -> int: ...
    @property
    def racks(self) -> Sequence[str]: ...

class TopicMetadata(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def topic_name(self) -> str: ...
    @property
    def num_partitions(self) -> int: ...
    @property
    def partition_metadata(self) -> Sequence[PartitionMetadata]: ...

class ConsumerGroupPartitionMetadataValue(Protocol):
    @property
    def topics(self) -> Sequence[TopicMetadata]: ...

class PartitionMetadataFields(TypedDict):
    partition: int
    racks: list[str]

class TopicMetadataFields(TypedDict):
    topic_id: UUID | None
    topic_name: str
    num_partitions: int
    partition_metadata: list[PartitionMetadataFields]

class ConsumerGroupPartitionMetadataValueFields(TypedDict):
    topics: list[TopicMetadataFields]

class ConsumerGroupRegularExpressionKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def regular_expression(self) -> str: ...

class ConsumerGroupRegularExpressionKeyFields(TypedDict):
    group_id: str
    regular_expression: str

class ConsumerGroupRegularExpressionValue(Protocol):
    @property
    def topics(self) -> Sequence[str]: ...
    @property
    def version(self) -> int: ...
    @property
    def timestamp(self) -> int: ...

class ConsumerGroupRegularExpressionValueFields(TypedDict):
    topics: list[str]
    version: int
    timestamp: int

class ConsumerGroupTargetAssignmentMemberKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class ConsumerGroupTargetAssignmentMemberKeyFields(TypedDict):
    group_id: str
    member_id: str

class ConsumerGroupTargetAssignmentMemberValueTopicPartition(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ConsumerGroupTargetAssignmentMemberValue(Protocol):
    @property
    def topic_partitions(
        self,
    ) -> Sequence[ConsumerGroupTargetAssignmentMemberValueTopicPartition]: ...

class ConsumerGroupTargetAssignmentMemberValueTopicPartitionFields(TypedDict):
    topic_id: UUID | None
    partitions: list[int]

class ConsumerGroupTargetAssignmentMemberValueFields(TypedDict):
    topic_partitions: list[ConsumerGroupTargetAssignmentMemberValueTopicPartitionFields]

class ConsumerGroupTargetAssignmentMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...

class ConsumerGroupTargetAssignmentMetadataKeyFields(TypedDict):
    group_id: str

class ConsumerGroupTargetAssignmentMetadataValue(Protocol):
    @property
    def assignment_epoch(self) -> int: ...
    @property
    def assignment_timestamp(self) -> int: ...

class ConsumerGroupTargetAssignmentMetadataValueFields(TypedDict):
    assignment_epoch: int
    assignment_timestamp: NotRequired[int]

class ConsumerProtocolAssignmentTopicPartition(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ConsumerProtocolAssignment(Protocol):
    @property
    def assigned_partitions(self) -> Sequence[ConsumerProtocolAssignmentTopicPartition]: ...
    @property
    def user_data(self) -> bytes | None: ...

class ConsumerProtocolAssignmentTopicPartitionFields(TypedDict):
    topic: str
    partitions: list[int]

class ConsumerProtocolAssignmentFields(TypedDict):
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartitionFields]
    user_data: NotRequired[bytes | None]

class ConsumerProtocolSubscriptionTopicPartition(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ConsumerProtocolSubscription(Protocol):
    @property
    def topics(self) -> Sequence[str]: ...
    @property
    def user_data(self) -> bytes | None: ...
    @property
    def owned_partitions(self) -> Sequence[ConsumerProtocolSubscriptionTopicPartition]: ...  # 1+
    @property
    def generation_id(self) -> int: ...  # 2+
    @property
    def rack_id(self) -> str | None: ...  # 3

class ConsumerProtocolSubscriptionTopicPartitionFields(TypedDict):
    topic: str
    partitions: list[int]

class ConsumerProtocolSubscriptionFields(TypedDict):
    topics: list[str]
    user_data: NotRequired[bytes | None]
    owned_partitions: NotRequired[list[ConsumerProtocolSubscriptionTopicPartitionFields]]  # 1+
    generation_id: NotRequired[int]  # 2+
    rack_id: NotRequired[str | None]  # 3

class ControlRecordTypeSchema(Protocol):
    @property
    def type(self) -> int: ...

class ControlRecordTypeSchemaFields(TypedDict):
    type: int

class DefaultPrincipalData(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def token_authenticated(self) -> bool: ...

class DefaultPrincipalDataFields(TypedDict):
    type: str
    name: str
    token_authenticated: bool

class DelegationTokenRecord(Protocol):
    @property
    def owner(self) -> str: ...
    @property
    def requester(self) -> str: ...
    @property
    def renewers(self) -> Sequence[str]: ...
    @property
    def issue_timestamp(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def expiration_timestamp(self) -> int: ...
    @property
    def token_id(self) -> str: ...

class DelegationTokenRecordFields(TypedDict):
    owner: str
    requester: str
    renewers: list[str]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str

class EndTxnMarker(Protocol):
    @property
    def coordinator_epoch(self) -> int: ...

class EndTxnMarkerFields(TypedDict):
    coordinator_epoch: int

class FeatureLevelRecord(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def feature_level(self) -> int: ...

class FeatureLevelRecordFields(TypedDict):
    name: str
    feature_level: int

class FenceBrokerRecord(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def epoch(self) -> int: ...

class FenceBrokerRecordFields(TypedDict):
    id: int
    epoch: int

class GroupMetadataKey(Protocol):
    @property
    def group(self) -> str: ...

class GroupMetadataKeyFields(TypedDict):
    group: str

class MemberMetadata(Protocol):
    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...  # 3+
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def rebalance_timeout(self) -> int: ...  # 1+
    @property
    def session_timeout(self) -> int: ...
    @property
    def subscription(self) -> bytes: ...
    @property
    def assignment(self) -> bytes: ...

class GroupMetadataValue(Protocol):
    @property
    def protocol_type(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def protocol(self) -> str | None: ...
    @property
    def leader(self) -> str | None: ...
    @property
    def current_state_timestamp(self) -> int: ...  # 2+
    @property
    def members(self) -> Sequence[MemberMetadata]: ...

class MemberMetadataFields(TypedDict):
    member_id: str
    group_instance_id: NotRequired[str | None]  # 3+
    client_id: str
    client_host: str
    rebalance_timeout: NotRequired[int]  # 1+
    session_timeout: int
    subscription: bytes
    assignment: bytes

class GroupMetadataValueFields(TypedDict):
    protocol_type: str
    generation: int
    protocol: NotRequired[str | None]
    leader: NotRequired[str | None]
    current_state_timestamp: NotRequired[int]  # 2+
    members: list[MemberMetadataFields]

class KRaftVersionRecord(Protocol):
    @property
    def version(self) -> int: ...
    @property
    def kraft_version(self) -> int: ...

class KRaftVersionRecordFields(TypedDict):
    version: int
    kraft_version: int

class LeaderChangeMessageVoter(Protocol):
    @property
    def voter_id(self) -> int: ...
    @property
    def voter_directory_id(self) -> UUID | None: ...  # 1

class LeaderChangeMessage(Protocol):
    @property
    def version(self) -> int: ...
    @property
    def leader_id(self) -> int: ...
    @property
    def voters(self) -> Sequence[LeaderChangeMessageVoter]: ...
    @property
    def granting_voters(self) -> Sequence[LeaderChangeMessageVoter]: ...

class LeaderChangeMessageVoterFields(TypedDict):
    voter_id: int
    voter_directory_id: NotRequired[UUID | None]  # 1

class LeaderChangeMessageFields(TypedDict):
    version: int
    leader_id: int
    voters: list[LeaderChangeMessageVoterFields]
    granting_voters: list[LeaderChangeMessageVoterFields]

class LegacyOffsetCommitKey(Protocol):
    @property
    def group(self) -> str: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...

class LegacyOffsetCommitKeyFields(TypedDict):
    group: str
    topic: str
    partition: int

class LegacyOffsetCommitValue(Protocol):
    @property
    def offset(self) -> int: ...
    @property
    def metadata(self) -> str: ...
    @property
    def commit_timestamp(self) -> int: ...

class LegacyOffsetCommitValueFields(TypedDict):
    offset: int
    metadata: str
    commit_timestamp: int

class OffsetCommitKey(Protocol):
    @property
    def group(self) -> str: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...

class OffsetCommitKeyFields(TypedDict):
    group: str
    topic: str
    partition: int

class OffsetCommitValue(Protocol):
    @property
    def offset(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...  # 3+
    @property
    def metadata(self) -> str: ...
    @property
    def commit_timestamp(self) -> int: ...
    @property
    def expire_timestamp(self) -> int: ...  # 1
    @property
    def topic_id(self) -> UUID | None: ...  # 4

class OffsetCommitValueFields(TypedDict):
    offset: int
    leader_epoch: NotRequired[int]  # 3+
    metadata: str
    commit_timestamp: int
    expire_timestamp: NotRequired[int]  # 1
    topic_id: NotRequired[UUID | None]  # 4

class PartitionChangeRecord(Protocol):
    @property
    def partition_id(self) -> int: ...
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def isr(self) -> Sequence[int] | None: ...
    @property
    def leader(self) -> int: ...
    @property
    def replicas(self) -> Sequence[int] | None: ...
    @property
    def removing_replicas(self) -> Sequence[int] | None: ...
    @property
    def adding_replicas(self) -> Sequence[int] | None: ...
    @property
    def leader_recovery_state(self) -> int: ...
    @property
    def directories(self) -> Sequence[UUID | None] | None: ...  # 1+
    @property
    def eligible_leader_replicas(self) -> Sequence[int] | None: ...  # 2
    @property
    def last_known_elr(self) -> Sequence[int] | None: ...  # 2

class PartitionChangeRecordFields(TypedDict):
    partition_id: NotRequired[int]
    topic_id: UUID | None
    isr: NotRequired[list[int] | None]
    leader: NotRequired[int]
    replicas: NotRequired[list[int] | None]
    removing_replicas: NotRequired[list[int] | None]
    adding_replicas: NotRequired[list[int] | None]
    leader_recovery_state: NotRequired[int]
    directories: NotRequired[list[UUID | None] | None]  # 1+
    eligible_leader_replicas: NotRequired[list[int] | None]  # 2
    last_known_elr: NotRequired[list[int] | None]  # 2

class PartitionRecord(Protocol):
    @property
    def partition_id(self) -> int: ...
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def replicas(self) -> Sequence[int]: ...
    @property
    def isr(self) -> Sequence[int]: ...
    @property
    def removing_replicas(self) -> Sequence[int]: ...
    @property
    def adding_replicas(self) -> Sequence[int]: ...
    @property
    def leader(self) -> int: ...
    @property
    def leader_recovery_state(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def partition_epoch(self) -> int: ...
    @property
    def directories(self) -> Sequence[UUID | None]: ...  # 1+
    @property
    def eligible_leader_replicas(self) -> Sequence[int] | None: ...  # 2
    @property
    def last_known_elr(self) -> Sequence[int] | None: ...  # 2

class PartitionRecordFields(TypedDict):
    partition_id: NotRequired[int]
    topic_id: UUID | None
    replicas: list[int]
    isr: list[int]
    removing_replicas: list[int]
    adding_replicas: list[int]
    leader: NotRequired[int]
    leader_recovery_state: NotRequired[int]
    leader_epoch: NotRequired[int]
    partition_epoch: NotRequired[int]
    directories: NotRequired[list[UUID | None]]  # 1+
    eligible_leader_replicas: NotRequired[list[int] | None]  # 2
    last_known_elr: NotRequired[list[int] | None]  # 2

class ProducerIdsRecord(Protocol):
    @property
    def broker_id(self) -> int: ...
    @property
    def broker_epoch(self) -> int: ...
    @property
    def next_producer_id(self) -> int: ...

class ProducerIdsRecordFields(TypedDict):
    broker_id: int
    broker_epoch: NotRequired[int]
    next_producer_id: int

class BrokerEndpoint(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def security_protocol(self) -> int: ...

class BrokerFeature(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def min_supported_version(self) -> int: ...
    @property
    def max_supported_version(self) -> int: ...

class RegisterBrokerRecord(Protocol):
    @property
    def broker_id(self) -> int: ...
    @property
    def is_migrating_zk_broker(self) -> bool: ...  # 2+
    @property
    def incarnation_id(self) -> UUID | None: ...
    @property
    def broker_epoch(self) -> int: ...
    @property
    def end_points(self) -> Sequence[BrokerEndpoint]: ...
    @property
    def features(self) -> Sequence[BrokerFeature]: ...
    @property
    def rack(self) -> str | None: ...
    @property
    def fenced(self) -> bool: ...
    @property
    def in_controlled_shutdown(self) -> bool: ...  # 1+
    @property
    def log_dirs(self) -> Sequence[UUID | None]: ...  # 3+
    @property
    def cordoned_log_dirs(self) -> Sequence[UUID | None] | None: ...  # 4

class BrokerEndpointFields(TypedDict):
    name: str
    host: str
    port: int
    security_protocol: int

class BrokerFeatureFields(TypedDict):
    name: str
    min_supported_version: int
    max_supported_version: int

class RegisterBrokerRecordFields(TypedDict):
    broker_id: int
    is_migrating_zk_broker: NotRequired[bool]  # 2+
    incarnation_id: UUID | None
    broker_epoch: int
    end_points: list[BrokerEndpointFields]
    features: list[BrokerFeatureFields]
    rack: NotRequired[str | None]
    fenced: NotRequired[bool]
    in_controlled_shutdown: NotRequired[bool]  # 1+
    log_dirs: NotRequired[list[UUID | None]]  # 3+
    cordoned_log_dirs: NotRequired[list[UUID | None] | None]  # 4

class ControllerEndpoint(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def security_protocol(self) -> int: ...

class ControllerFeature(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def min_supported_version(self) -> int: ...
    @property
    def max_supported_version(self) -> int: ...

class RegisterControllerRecord(Protocol):
    @property
    def controller_id(self) -> int: ...
    @property
    def incarnation_id(self) -> UUID | None: ...
    @property
    def zk_migration_ready(self) -> bool: ...
    @property
    def end_points(self) -> Sequence[ControllerEndpoint]: ...
    @property
    def features(self) -> Sequence[ControllerFeature]: ...

class ControllerEndpointFields(TypedDict):
    name: str
    host: str
    port: int
    security_protocol: int

class ControllerFeatureFields(TypedDict):
    name: str
    min_supported_version: int
    max_supported_version: int

class RegisterControllerRecordFields(TypedDict):
    controller_id: int
    incarnation_id: UUID | None
    zk_migration_ready: bool
    end_points: list[ControllerEndpointFields]
    features: list[ControllerFeatureFields]

class RemoveAccessControlEntryRecord(Protocol):
    @property
    def id(self) -> UUID | None: ...

class RemoveAccessControlEntryRecordFields(TypedDict):
    id: UUID | None

class RemoveDelegationTokenRecord(Protocol):
    @property
    def token_id(self) -> str: ...

class RemoveDelegationTokenRecordFields(TypedDict):
    token_id: str

class RemoveTopicRecord(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...

class RemoveTopicRecordFields(TypedDict):
    topic_id: UUID | None

class RemoveUserScramCredentialRecord(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def mechanism(self) -> int: ...

class RemoveUserScramCredentialRecordFields(TypedDict):
    name: str
    mechanism: int

class ShareGroupCurrentMemberAssignmentKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class ShareGroupCurrentMemberAssignmentKeyFields(TypedDict):
    group_id: str
    member_id: str

class ShareGroupCurrentMemberAssignmentValueTopicPartitions(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ShareGroupCurrentMemberAssignmentValue(Protocol):
    @property
    def member_epoch(self) -> int: ...
    @property
    def previous_member_epoch(self) -> int: ...
    @property
    def state(self) -> int: ...
    @property
    def assigned_partitions(
        self,
    ) -> Sequence[ShareGroupCurrentMemberAssignmentValueTopicPartitions]: ...

class ShareGroupCurrentMemberAssignmentValueTopicPartitionsFields(TypedDict):
    topic_id: UUID | None
    partitions: list[int]

class ShareGroupCurrentMemberAssignmentValueFields(TypedDict):
    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[ShareGroupCurrentMemberAssignmentValueTopicPartitionsFields]

class ShareGroupMemberMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class ShareGroupMemberMetadataKeyFields(TypedDict):
    group_id: str
    member_id: str

class ShareGroupMemberMetadataValue(Protocol):
    @property
    def rack_id(self) -> str | None: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def subscribed_topic_names(self) -> Sequence[str]: ...

class ShareGroupMemberMetadataValueFields(TypedDict):
    rack_id: NotRequired[str | None]
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]

class ShareGroupMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...

class ShareGroupMetadataKeyFields(TypedDict):
    group_id: str

class ShareGroupMetadataValue(Protocol):
    @property
    def epoch(self) -> int: ...
    @property
    def metadata_hash(self) -> int: ...

class ShareGroupMetadataValueFields(TypedDict):
    epoch: int
    metadata_hash: int

class ShareGroupStatePartitionMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...

class ShareGroupStatePartitionMetadataKeyFields(TypedDict):
    group_id: str

class TopicPartitionsInfo(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def topic_name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ShareGroupStatePartitionMetadataValueTopicInfo(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def topic_name(self) -> str: ...

class ShareGroupStatePartitionMetadataValue(Protocol):
    @property
    def initializing_topics(self) -> Sequence[TopicPartitionsInfo]: ...
    @property
    def initialized_topics(self) -> Sequence[TopicPartitionsInfo]: ...
    @property
    def deleting_topics(self) -> Sequence[ShareGroupStatePartitionMetadataValueTopicInfo]: ...

class TopicPartitionsInfoFields(TypedDict):
    topic_id: UUID | None
    topic_name: str
    partitions: list[int]

class ShareGroupStatePartitionMetadataValueTopicInfoFields(TypedDict):
    topic_id: UUID | None
    topic_name: str

class ShareGroupStatePartitionMetadataValueFields(TypedDict):
    initializing_topics: list[TopicPartitionsInfoFields]
    initialized_topics: list[TopicPartitionsInfoFields]
    deleting_topics: list[ShareGroupStatePartitionMetadataValueTopicInfoFields]

class ShareGroupTargetAssignmentMemberKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class ShareGroupTargetAssignmentMemberKeyFields(TypedDict):
    group_id: str
    member_id: str

class ShareGroupTargetAssignmentMemberValueTopicPartition(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ShareGroupTargetAssignmentMemberValue(Protocol):
    @property
    def topic_partitions(self) -> Sequence[ShareGroupTargetAssignmentMemberValueTopicPartition]: ...

class ShareGroupTargetAssignmentMemberValueTopicPartitionFields(TypedDict):
    topic_id: UUID | None
    partitions: list[int]

class ShareGroupTargetAssignmentMemberValueFields(TypedDict):
    topic_partitions: list[ShareGroupTargetAssignmentMemberValueTopicPartitionFields]

class ShareGroupTargetAssignmentMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...

class ShareGroupTargetAssignmentMetadataKeyFields(TypedDict):
    group_id: str

class ShareGroupTargetAssignmentMetadataValue(Protocol):
    @property
    def assignment_epoch(self) -> int: ...
    @property
    def assignment_timestamp(self) -> int: ...

class ShareGroupTargetAssignmentMetadataValueFields(TypedDict):
    assignment_epoch: int
    assignment_timestamp: NotRequired[int]

class ShareSnapshotKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partition(self) -> int: ...

class ShareSnapshotKeyFields(TypedDict):
    group_id: str
    topic_id: UUID | None
    partition: int

class StateBatch(Protocol):
    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def delivery_state(self) -> int: ...
    @property
    def delivery_count(self) -> int: ...

class ShareSnapshotValue(Protocol):
    @property
    def snapshot_epoch(self) -> int: ...
    @property
    def state_epoch(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def start_offset(self) -> int: ...
    @property
    def delivery_complete_count(self) -> int: ...
    @property
    def create_timestamp(self) -> int: ...
    @property
    def write_timestamp(self) -> int: ...
    @property
    def state_batches(self) -> Sequence[StateBatch]: ...

class StateBatchFields(TypedDict):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

class ShareSnapshotValueFields(TypedDict):
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: NotRequired[int]
    create_timestamp: int
    write_timestamp: int
    state_batches: list[StateBatchFields]

class ShareUpdateKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partition(self) -> int: ...

class ShareUpdateKeyFields(TypedDict):
    group_id: str
    topic_id: UUID | None
    partition: int

class ShareUpdateValue(Protocol):
    @property
    def snapshot_epoch(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def start_offset(self) -> int: ...
    @property
    def delivery_complete_count(self) -> int: ...
    @property
    def state_batches(self) -> Sequence[StateBatch]: ...

class ShareUpdateValueFields(TypedDict):
    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: NotRequired[int]
    state_batches: list[StateBatchFields]

class SnapshotFooterRecord(Protocol):
    @property
    def version(self) -> int: ...

class SnapshotFooterRecordFields(TypedDict):
    version: int

class SnapshotHeaderRecord(Protocol):
    @property
    def version(self) -> int: ...
    @property
    def last_contained_log_timestamp(self) -> int: ...

class SnapshotHeaderRecordFields(TypedDict):
    version: int
    last_contained_log_timestamp: int

class StreamsGroupCurrentMemberAssignmentKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class StreamsGroupCurrentMemberAssignmentKeyFields(TypedDict):
    group_id: str
    member_id: str

class StreamsGroupCurrentMemberAssignmentValueTaskIds(Protocol):
    @property
    def subtopology_id(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...
    @property
    def assignment_epochs(self) -> Sequence[int] | None: ...

class StreamsGroupCurrentMemberAssignmentValue(Protocol):
    @property
    def member_epoch(self) -> int: ...
    @property
    def previous_member_epoch(self) -> int: ...
    @property
    def state(self) -> int: ...
    @property
    def active_tasks(self) -> Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds]: ...
    @property
    def standby_tasks(self) -> Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds]: ...
    @property
    def warmup_tasks(self) -> Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds]: ...
    @property
    def active_tasks_pending_revocation(
        self,
    ) -> Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds]: ...
    @property
    def standby_tasks_pending_revocation(
        self,
    ) -> Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds]: ...
    @property
    def warmup_tasks_pending_revocation(
        self,
    ) -> Sequence[StreamsGroupCurrentMemberAssignmentValueTaskIds]: ...

class StreamsGroupCurrentMemberAssignmentValueTaskIdsFields(TypedDict):
    subtopology_id: str
    partitions: list[int]
    assignment_epochs: NotRequired[list[int] | None]

class StreamsGroupCurrentMemberAssignmentValueFields(TypedDict):
    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIdsFields]
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIdsFields]
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIdsFields]
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIdsFields]
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIdsFields]
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIdsFields]

class StreamsGroupMemberMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class StreamsGroupMemberMetadataKeyFields(TypedDict):
    group_id: str
    member_id: str

class StreamsGroupMemberMetadataValueEndpoint(Protocol):
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...

class KeyValue(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...

class StreamsGroupMemberMetadataValue(Protocol):
    @property
    def instance_id(self) -> str | None: ...
    @property
    def rack_id(self) -> str | None: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def rebalance_timeout_ms(self) -> int: ...
    @property
    def topology_epoch(self) -> int: ...
    @property
    def process_id(self) -> str: ...
    @property
    def user_endpoint(self) -> StreamsGroupMemberMetadataValueEndpoint | None: ...
    @property
    def client_tags(self) -> Sequence[KeyValue]: ...

class StreamsGroupMemberMetadataValueEndpointFields(TypedDict):
    host: str
    port: int

class KeyValueFields(TypedDict):
    key: str
    value: str

class StreamsGroupMemberMetadataValueFields(TypedDict):
    instance_id: NotRequired[str | None]
    rack_id: NotRequired[str | None]
    client_id: str
    client_host: str
    rebalance_timeout_ms: NotRequired[int]
    topology_epoch: int
    process_id: str
    user_endpoint: NotRequired[StreamsGroupMemberMetadataValueEndpointFields | None]
    client_tags: list[KeyValueFields]

class StreamsGroupMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...

class StreamsGroupMetadataKeyFields(TypedDict):
    group_id: str

class LastAssignmentConfig(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...

class StreamsGroupMetadataValue(Protocol):
    @property
    def epoch(self) -> int: ...
    @property
    def metadata_hash(self) -> int: ...
    @property
    def validated_topology_epoch(self) -> int: ...
    @property
    def last_assignment_configs(self) -> Sequence[LastAssignmentConfig] | None: ...
    @property
    def stored_description_topology_epoch(self) -> int: ...
    @property
    def failed_description_topology_epoch(self) -> int: ...

class LastAssignmentConfigFields(TypedDict):
    key: str
    value: str

class StreamsGroupMetadataValueFields(TypedDict):
    epoch: int
    metadata_hash: int
    validated_topology_epoch: NotRequired[int]
    last_assignment_configs: NotRequired[list[LastAssignmentConfigFields] | None]
    stored_description_topology_epoch: NotRequired[int]
    failed_description_topology_epoch: NotRequired[int]

class StreamsGroupTargetAssignmentMemberKey(Protocol):
    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str: ...

class StreamsGroupTargetAssignmentMemberKeyFields(TypedDict):
    group_id: str
    member_id: str

class StreamsGroupTargetAssignmentMemberValueTaskIds(Protocol):
    @property
    def subtopology_id(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class StreamsGroupTargetAssignmentMemberValue(Protocol):
    @property
    def active_tasks(self) -> Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds]: ...
    @property
    def standby_tasks(self) -> Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds]: ...
    @property
    def warmup_tasks(self) -> Sequence[StreamsGroupTargetAssignmentMemberValueTaskIds]: ...

class StreamsGroupTargetAssignmentMemberValueTaskIdsFields(TypedDict):
    subtopology_id: str
    partitions: list[int]

class StreamsGroupTargetAssignmentMemberValueFields(TypedDict):
    active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIdsFields]
    standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIdsFields]
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIdsFields]

class StreamsGroupTargetAssignmentMetadataKey(Protocol):
    @property
    def group_id(self) -> str: ...

class StreamsGroupTargetAssignmentMetadataKeyFields(TypedDict):
    group_id: str

class StreamsGroupTargetAssignmentMetadataValue(Protocol):
    @property
    def assignment_epoch(self) -> int: ...
    @property
    def assignment_timestamp(self) -> int: ...

class StreamsGroupTargetAssignmentMetadataValueFields(TypedDict):
    assignment_epoch: int
    assignment_timestamp: NotRequired[int]

class StreamsGroupTopologyKey(Protocol):
    @property
    def group_id(self) -> str: ...

class StreamsGroupTopologyKeyFields(TypedDict):
    group_id: str

class TopicConfig(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...

class StreamsGroupTopologyValueTopicInfo(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> int: ...
    @property
    def replication_factor(self) -> int: ...
    @property
    def topic_configs(self) -> Sequence[TopicConfig]: ...

class CopartitionGroup(Protocol):
    @property
    def source_topics(self) -> Sequence[int]: ...
    @property
    def source_topic_regex(self) -> Sequence[int]: ...
    @property
    def repartition_source_topics(self) -> Sequence[int]: ...

class Subtopology(Protocol):
    @property
    def subtopology_id(self) -> str: ...
    @property
    def source_topics(self) -> Sequence[str]: ...
    @property
    def source_topic_regex(self) -> Sequence[str]: ...
    @property
    def state_changelog_topics(self) -> Sequence[StreamsGroupTopologyValueTopicInfo]: ...
    @property
    def repartition_sink_topics(self) -> Sequence[str]: ...
    @property
    def repartition_source_topics(self) -> Sequence[StreamsGroupTopologyValueTopicInfo]: ...
    @property
    def copartition_groups(self) -> Sequence[CopartitionGroup]: ...

class StreamsGroupTopologyValue(Protocol):
    @property
    def epoch(self) -> int: ...
    @property
    def subtopologies(self) -> Sequence[Subtopology]: ...

class TopicConfigFields(TypedDict):
    key: str
    value: str

class StreamsGroupTopologyValueTopicInfoFields(TypedDict):
    name: str
    partitions: int
    replication_factor: int
    topic_configs: list[TopicConfigFields]

class CopartitionGroupFields(TypedDict):
    source_topics: list[int]
    source_topic_regex: list[int]
    repartition_source_topics: list[int]

class SubtopologyFields(TypedDict):
    subtopology_id: str
    source_topics: list[str]
    source_topic_regex: list[str]
    state_changelog_topics: list[StreamsGroupTopologyValueTopicInfoFields]
    repartition_sink_topics: list[str]
    repartition_source_topics: list[StreamsGroupTopologyValueTopicInfoFields]
    copartition_groups: list[CopartitionGroupFields]

class StreamsGroupTopologyValueFields(TypedDict):
    epoch: int
    subtopologies: list[SubtopologyFields]

class TopicRecord(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> UUID | None: ...

class TopicRecordFields(TypedDict):
    name: str
    topic_id: UUID | None

class TransactionLogKey(Protocol):
    @property
    def transactional_id(self) -> str: ...

class TransactionLogKeyFields(TypedDict):
    transactional_id: str

class PartitionsSchema(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def partition_ids(self) -> Sequence[int]: ...

class TransactionLogValue(Protocol):
    @property
    def producer_id(self) -> int: ...
    @property
    def previous_producer_id(self) -> int: ...  # 1
    @property
    def next_producer_id(self) -> int: ...  # 1
    @property
    def producer_epoch(self) -> int: ...
    @property
    def next_producer_epoch(self) -> int: ...  # 1
    @property
    def transaction_timeout_ms(self) -> int: ...
    @property
    def transaction_status(self) -> int: ...
    @property
    def transaction_partitions(self) -> Sequence[PartitionsSchema] | None: ...
    @property
    def transaction_last_update_timestamp_ms(self) -> int: ...
    @property
    def transaction_start_timestamp_ms(self) -> int: ...
    @property
    def client_transaction_version(self) -> int: ...  # 1

class PartitionsSchemaFields(TypedDict):
    topic: str
    partition_ids: list[int]

class TransactionLogValueFields(TypedDict):
    producer_id: int
    previous_producer_id: NotRequired[int]  # 1
    next_producer_id: NotRequired[int]  # 1
    producer_epoch: int
    next_producer_epoch: NotRequired[int]  # 1
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: NotRequired[list[PartitionsSchemaFields] | None]
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    client_transaction_version: NotRequired[int]  # 1

class UnfenceBrokerRecord(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def epoch(self) -> int: ...

class UnfenceBrokerRecordFields(TypedDict):
    id: int
    epoch: int

class UnregisterBrokerRecord(Protocol):
    @property
    def broker_id(self) -> int: ...
    @property
    def broker_epoch(self) -> int: ...

class UnregisterBrokerRecordFields(TypedDict):
    broker_id: int
    broker_epoch: int

class UnregisterControllerRecord(Protocol):
    @property
    def controller_id(self) -> int: ...

class UnregisterControllerRecordFields(TypedDict):
    controller_id: int

class UserScramCredentialRecord(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def mechanism(self) -> int: ...
    @property
    def salt(self) -> bytes: ...
    @property
    def stored_key(self) -> bytes: ...
    @property
    def server_key(self) -> bytes: ...
    @property
    def iterations(self) -> int: ...

class UserScramCredentialRecordFields(TypedDict):
    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

class VotersRecordEndpoint(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...

class KRaftVersionFeature(Protocol):
    @property
    def min_supported_version(self) -> int: ...
    @property
    def max_supported_version(self) -> int: ...

class VotersRecordVoter(Protocol):
    @property
    def voter_id(self) -> int: ...
    @property
    def voter_directory_id(self) -> UUID | None: ...
    @property
    def endpoints(self) -> Sequence[VotersRecordEndpoint]: ...
    @property
    def kraft_version_feature(self) -> KRaftVersionFeature: ...

class VotersRecord(Protocol):
    @property
    def version(self) -> int: ...
    @property
    def voters(self) -> Sequence[VotersRecordVoter]: ...

class VotersRecordEndpointFields(TypedDict):
    name: str
    host: str
    port: int

class KRaftVersionFeatureFields(TypedDict):
    min_supported_version: int
    max_supported_version: int

class VotersRecordVoterFields(TypedDict):
    voter_id: int
    voter_directory_id: UUID | None
    endpoints: list[VotersRecordEndpointFields]
    kraft_version_feature: KRaftVersionFeatureFields

class VotersRecordFields(TypedDict):
    version: int
    voters: list[VotersRecordVoterFields]

class ZkMigrationStateRecord(Protocol):
    @property
    def zk_migration_state(self) -> int: ...

class ZkMigrationStateRecordFields(TypedDict):
    zk_migration_state: int

class DecodeData(Protocol):
    @overload
    def __call__(
        self, key: Literal["AbortTransactionRecord"], data: Bytes, /
    ) -> AbortTransactionRecord: ...
    @overload
    def __call__(self, key: Literal["AbortedTxn"], data: Bytes, /) -> AbortedTxn: ...
    @overload
    def __call__(
        self, key: Literal["AccessControlEntryRecord"], data: Bytes, /
    ) -> AccessControlEntryRecord: ...
    @overload
    def __call__(
        self, key: Literal["BeginTransactionRecord"], data: Bytes, /
    ) -> BeginTransactionRecord: ...
    @overload
    def __call__(
        self, key: Literal["BrokerRegistrationChangeRecord"], data: Bytes, /
    ) -> BrokerRegistrationChangeRecord: ...
    @overload
    def __call__(self, key: Literal["ClearElrRecord"], data: Bytes, /) -> ClearElrRecord: ...
    @overload
    def __call__(self, key: Literal["ClientQuotaRecord"], data: Bytes, /) -> ClientQuotaRecord: ...
    @overload
    def __call__(self, key: Literal["ConfigRecord"], data: Bytes, /) -> ConfigRecord: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupCurrentMemberAssignmentKey"], data: Bytes, /
    ) -> ConsumerGroupCurrentMemberAssignmentKey: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupCurrentMemberAssignmentValue"], data: Bytes, /
    ) -> ConsumerGroupCurrentMemberAssignmentValue: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupMemberMetadataKey"], data: Bytes, /
    ) -> ConsumerGroupMemberMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupMemberMetadataValue"], data: Bytes, /
    ) -> ConsumerGroupMemberMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupMetadataKey"], data: Bytes, /
    ) -> ConsumerGroupMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupMetadataValue"], data: Bytes, /
    ) -> ConsumerGroupMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupPartitionMetadataKey"], data: Bytes, /
    ) -> ConsumerGroupPartitionMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupPartitionMetadataValue"], data: Bytes, /
    ) -> ConsumerGroupPartitionMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupRegularExpressionKey"], data: Bytes, /
    ) -> ConsumerGroupRegularExpressionKey: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupRegularExpressionValue"], data: Bytes, /
    ) -> ConsumerGroupRegularExpressionValue: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupTargetAssignmentMemberKey"], data: Bytes, /
    ) -> ConsumerGroupTargetAssignmentMemberKey: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupTargetAssignmentMemberValue"], data: Bytes, /
    ) -> ConsumerGroupTargetAssignmentMemberValue: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupTargetAssignmentMetadataKey"], data: Bytes, /
    ) -> ConsumerGroupTargetAssignmentMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerGroupTargetAssignmentMetadataValue"], data: Bytes, /
    ) -> ConsumerGroupTargetAssignmentMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerProtocolAssignment"], data: Bytes, /
    ) -> ConsumerProtocolAssignment: ...
    @overload
    def __call__(
        self, key: Literal["ConsumerProtocolSubscription"], data: Bytes, /
    ) -> ConsumerProtocolSubscription: ...
    @overload
    def __call__(
        self, key: Literal["ControlRecordTypeSchema"], data: Bytes, /
    ) -> ControlRecordTypeSchema: ...
    @overload
    def __call__(
        self, key: Literal["DefaultPrincipalData"], data: Bytes, /
    ) -> DefaultPrincipalData: ...
    @overload
    def __call__(
        self, key: Literal["DelegationTokenRecord"], data: Bytes, /
    ) -> DelegationTokenRecord: ...
    @overload
    def __call__(self, key: Literal["EndTxnMarker"], data: Bytes, /) -> EndTxnMarker: ...
    @overload
    def __call__(
        self, key: Literal["FeatureLevelRecord"], data: Bytes, /
    ) -> FeatureLevelRecord: ...
    @overload
    def __call__(self, key: Literal["FenceBrokerRecord"], data: Bytes, /) -> FenceBrokerRecord: ...
    @overload
    def __call__(self, key: Literal["GroupMetadataKey"], data: Bytes, /) -> GroupMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["GroupMetadataValue"], data: Bytes, /
    ) -> GroupMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["KRaftVersionRecord"], data: Bytes, /
    ) -> KRaftVersionRecord: ...
    @overload
    def __call__(
        self, key: Literal["LeaderChangeMessage"], data: Bytes, /
    ) -> LeaderChangeMessage: ...
    @overload
    def __call__(
        self, key: Literal["LegacyOffsetCommitKey"], data: Bytes, /
    ) -> LegacyOffsetCommitKey: ...
    @overload
    def __call__(
        self, key: Literal["LegacyOffsetCommitValue"], data: Bytes, /
    ) -> LegacyOffsetCommitValue: ...
    @overload
    def __call__(self, key: Literal["OffsetCommitKey"], data: Bytes, /) -> OffsetCommitKey: ...
    @overload
    def __call__(self, key: Literal["OffsetCommitValue"], data: Bytes, /) -> OffsetCommitValue: ...
    @overload
    def __call__(
        self, key: Literal["PartitionChangeRecord"], data: Bytes, /
    ) -> PartitionChangeRecord: ...
    @overload
    def __call__(self, key: Literal["PartitionRecord"], data: Bytes, /) -> PartitionRecord: ...
    @overload
    def __call__(self, key: Literal["ProducerIdsRecord"], data: Bytes, /) -> ProducerIdsRecord: ...
    @overload
    def __call__(
        self, key: Literal["RegisterBrokerRecord"], data: Bytes, /
    ) -> RegisterBrokerRecord: ...
    @overload
    def __call__(
        self, key: Literal["RegisterControllerRecord"], data: Bytes, /
    ) -> RegisterControllerRecord: ...
    @overload
    def __call__(
        self, key: Literal["RemoveAccessControlEntryRecord"], data: Bytes, /
    ) -> RemoveAccessControlEntryRecord: ...
    @overload
    def __call__(
        self, key: Literal["RemoveDelegationTokenRecord"], data: Bytes, /
    ) -> RemoveDelegationTokenRecord: ...
    @overload
    def __call__(self, key: Literal["RemoveTopicRecord"], data: Bytes, /) -> RemoveTopicRecord: ...
    @overload
    def __call__(
        self, key: Literal["RemoveUserScramCredentialRecord"], data: Bytes, /
    ) -> RemoveUserScramCredentialRecord: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupCurrentMemberAssignmentKey"], data: Bytes, /
    ) -> ShareGroupCurrentMemberAssignmentKey: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupCurrentMemberAssignmentValue"], data: Bytes, /
    ) -> ShareGroupCurrentMemberAssignmentValue: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupMemberMetadataKey"], data: Bytes, /
    ) -> ShareGroupMemberMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupMemberMetadataValue"], data: Bytes, /
    ) -> ShareGroupMemberMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupMetadataKey"], data: Bytes, /
    ) -> ShareGroupMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupMetadataValue"], data: Bytes, /
    ) -> ShareGroupMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupStatePartitionMetadataKey"], data: Bytes, /
    ) -> ShareGroupStatePartitionMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupStatePartitionMetadataValue"], data: Bytes, /
    ) -> ShareGroupStatePartitionMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupTargetAssignmentMemberKey"], data: Bytes, /
    ) -> ShareGroupTargetAssignmentMemberKey: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupTargetAssignmentMemberValue"], data: Bytes, /
    ) -> ShareGroupTargetAssignmentMemberValue: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupTargetAssignmentMetadataKey"], data: Bytes, /
    ) -> ShareGroupTargetAssignmentMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["ShareGroupTargetAssignmentMetadataValue"], data: Bytes, /
    ) -> ShareGroupTargetAssignmentMetadataValue: ...
    @overload
    def __call__(self, key: Literal["ShareSnapshotKey"], data: Bytes, /) -> ShareSnapshotKey: ...
    @overload
    def __call__(
        self, key: Literal["ShareSnapshotValue"], data: Bytes, /
    ) -> ShareSnapshotValue: ...
    @overload
    def __call__(self, key: Literal["ShareUpdateKey"], data: Bytes, /) -> ShareUpdateKey: ...
    @overload
    def __call__(self, key: Literal["ShareUpdateValue"], data: Bytes, /) -> ShareUpdateValue: ...
    @overload
    def __call__(
        self, key: Literal["SnapshotFooterRecord"], data: Bytes, /
    ) -> SnapshotFooterRecord: ...
    @overload
    def __call__(
        self, key: Literal["SnapshotHeaderRecord"], data: Bytes, /
    ) -> SnapshotHeaderRecord: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupCurrentMemberAssignmentKey"], data: Bytes, /
    ) -> StreamsGroupCurrentMemberAssignmentKey: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupCurrentMemberAssignmentValue"], data: Bytes, /
    ) -> StreamsGroupCurrentMemberAssignmentValue: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupMemberMetadataKey"], data: Bytes, /
    ) -> StreamsGroupMemberMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupMemberMetadataValue"], data: Bytes, /
    ) -> StreamsGroupMemberMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupMetadataKey"], data: Bytes, /
    ) -> StreamsGroupMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupMetadataValue"], data: Bytes, /
    ) -> StreamsGroupMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupTargetAssignmentMemberKey"], data: Bytes, /
    ) -> StreamsGroupTargetAssignmentMemberKey: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupTargetAssignmentMemberValue"], data: Bytes, /
    ) -> StreamsGroupTargetAssignmentMemberValue: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupTargetAssignmentMetadataKey"], data: Bytes, /
    ) -> StreamsGroupTargetAssignmentMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupTargetAssignmentMetadataValue"], data: Bytes, /
    ) -> StreamsGroupTargetAssignmentMetadataValue: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupTopologyKey"], data: Bytes, /
    ) -> StreamsGroupTopologyKey: ...
    @overload
    def __call__(
        self, key: Literal["StreamsGroupTopologyValue"], data: Bytes, /
    ) -> StreamsGroupTopologyValue: ...
    @overload
    def __call__(self, key: Literal["TopicRecord"], data: Bytes, /) -> TopicRecord: ...
    @overload
    def __call__(self, key: Literal["TransactionLogKey"], data: Bytes, /) -> TransactionLogKey: ...
    @overload
    def __call__(
        self, key: Literal["TransactionLogValue"], data: Bytes, /
    ) -> TransactionLogValue: ...
    @overload
    def __call__(
        self, key: Literal["UnfenceBrokerRecord"], data: Bytes, /
    ) -> UnfenceBrokerRecord: ...
    @overload
    def __call__(
        self, key: Literal["UnregisterBrokerRecord"], data: Bytes, /
    ) -> UnregisterBrokerRecord: ...
    @overload
    def __call__(
        self, key: Literal["UnregisterControllerRecord"], data: Bytes, /
    ) -> UnregisterControllerRecord: ...
    @overload
    def __call__(
        self, key: Literal["UserScramCredentialRecord"], data: Bytes, /
    ) -> UserScramCredentialRecord: ...
    @overload
    def __call__(self, key: Literal["VotersRecord"], data: Bytes, /) -> VotersRecord: ...
    @overload
    def __call__(
        self, key: Literal["ZkMigrationStateRecord"], data: Bytes, /
    ) -> ZkMigrationStateRecord: ...
    @overload
    def __call__(self, key: str, data: Bytes, /) -> Any: ...
