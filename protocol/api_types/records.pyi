"""Keys and values of records, and the consumer protocol; made by `make message-types`."""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired, Protocol, TypedDict, overload
from uuid import UUID

from ..batch import Bytes

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
    def log_dirs(self) -> Sequence[UUID | None]: ...  # 2

class BrokerRegistrationChangeRecordFields(TypedDict):
    broker_id: int
    broker_epoch: int
    fenced: NotRequired[int]
    in_controlled_shutdown: NotRequired[int]  # 1+
    log_dirs: NotRequired[list[UUID | None]]  # 2

class ClearElrRecord(Protocol):
    @property
    def topic_name(self) -> str | None: ...

class ClearElrRecordFields(TypedDict):
    topic_name: NotRequired[str | None]

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

class TopicPartitions(Protocol):
    @property
    def topic_id(self) -> UUID | None: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class ConsumerGroupCurrentMemberAssignmentValue(Protocol):
    @property
    def member_epoch(self) -> int: ...
    @property
    def previous_member_epoch(self) -> int: ...
    @property
    def state(self) -> int: ...
    @property
    def assigned_partitions(self) -> Sequence[TopicPartitions]: ...
    @property
    def partitions_pending_revocation(self) -> Sequence[TopicPartitions]: ...

class TopicPartitionsFields(TypedDict):
    topic_id: UUID | None
    partitions: list[int]

class ConsumerGroupCurrentMemberAssignmentValueFields(TypedDict):
    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: list[TopicPartitionsFields]
    partitions_pending_revocation: list[TopicPartitionsFields]

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
    def metadata_version(self) -> int: ...
    @property
    def timestamp(self) -> int: ...

class ConsumerGroupRegularExpressionValueFields(TypedDict):
    topics: list[str]
    metadata_version: int
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

class ConsumerGroupTargetAssignmentMetadataValueFields(TypedDict):
    assignment_epoch: int

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

class FeatureLevelRecord(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def feature_level(self) -> int: ...

class FeatureLevelRecordFields(TypedDict):
    name: str
    feature_level: int

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
    def eligible_leader_replicas(self) -> Sequence[int] | None: ...  # 2
    @property
    def last_known_elr(self) -> Sequence[int] | None: ...  # 2
    @property
    def directories(self) -> Sequence[UUID | None] | None: ...  # 1+

class PartitionChangeRecordFields(TypedDict):
    partition_id: NotRequired[int]
    topic_id: UUID | None
    isr: NotRequired[list[int] | None]
    leader: NotRequired[int]
    replicas: NotRequired[list[int] | None]
    removing_replicas: NotRequired[list[int] | None]
    adding_replicas: NotRequired[list[int] | None]
    leader_recovery_state: NotRequired[int]
    eligible_leader_replicas: NotRequired[list[int] | None]  # 2
    last_known_elr: NotRequired[list[int] | None]  # 2
    directories: NotRequired[list[UUID | None] | None]  # 1+

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
    def leader_epoch(self) -> int: ...
    @property
    def partition_epoch(self) -> int: ...
    @property
    def directories(self) -> Sequence[UUID | None]: ...  # 1+
    @property
    def leader_recovery_state(self) -> int: ...
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
    leader_epoch: NotRequired[int]
    partition_epoch: NotRequired[int]
    directories: NotRequired[list[UUID | None]]  # 1+
    leader_recovery_state: NotRequired[int]
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
    def log_dirs(self) -> Sequence[UUID | None]: ...  # 3

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
    log_dirs: NotRequired[list[UUID | None]]  # 3

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
    @property
    def next_producer_epoch(self) -> int: ...  # 1

class PartitionsSchemaFields(TypedDict):
    topic: str
    partition_ids: list[int]

class TransactionLogValueFields(TypedDict):
    producer_id: int
    previous_producer_id: NotRequired[int]  # 1
    next_producer_id: NotRequired[int]  # 1
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: NotRequired[list[PartitionsSchemaFields] | None]
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    client_transaction_version: NotRequired[int]  # 1
    next_producer_epoch: NotRequired[int]  # 1

class UnregisterBrokerRecord(Protocol):
    @property
    def broker_id(self) -> int: ...
    @property
    def broker_epoch(self) -> int: ...

class UnregisterBrokerRecordFields(TypedDict):
    broker_id: int
    broker_epoch: int

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

class DecodeData(Protocol):
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
        self, key: Literal["DelegationTokenRecord"], data: Bytes, /
    ) -> DelegationTokenRecord: ...
    @overload
    def __call__(
        self, key: Literal["FeatureLevelRecord"], data: Bytes, /
    ) -> FeatureLevelRecord: ...
    @overload
    def __call__(self, key: Literal["GroupMetadataKey"], data: Bytes, /) -> GroupMetadataKey: ...
    @overload
    def __call__(
        self, key: Literal["GroupMetadataValue"], data: Bytes, /
    ) -> GroupMetadataValue: ...
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
    def __call__(self, key: Literal["TopicRecord"], data: Bytes, /) -> TopicRecord: ...
    @overload
    def __call__(self, key: Literal["TransactionLogKey"], data: Bytes, /) -> TransactionLogKey: ...
    @overload
    def __call__(
        self, key: Literal["TransactionLogValue"], data: Bytes, /
    ) -> TransactionLogValue: ...
    @overload
    def __call__(
        self, key: Literal["UnregisterBrokerRecord"], data: Bytes, /
    ) -> UnregisterBrokerRecord: ...
    @overload
    def __call__(
        self, key: Literal["UserScramCredentialRecord"], data: Bytes, /
    ) -> UserScramCredentialRecord: ...
    @overload
    def __call__(self, key: str, data: Bytes, /) -> Any: ...
