"""CreateTopics (19), versions 2-7; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class CreatableReplicaAssignment(Protocol):
    @property
    def partition_index(self) -> int: ...
    @property
    def broker_ids(self) -> Sequence[int]: ...

class CreatableTopicConfig(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str | None: ...

class CreatableTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def num_partitions(self) -> int: ...
    @property
    def replication_factor(self) -> int: ...
    @property
    def assignments(self) -> Sequence[CreatableReplicaAssignment]: ...
    @property
    def configs(self) -> Sequence[CreatableTopicConfig]: ...

class CreateTopicsRequest(Protocol):
    topics: Sequence[CreatableTopic]
    timeout_ms: int
    validate_only: bool

class CreatableTopicConfigs(TypedDict):
    name: str
    value: NotRequired[str | None]
    read_only: bool
    config_source: NotRequired[int]
    is_sensitive: bool

class CreatableTopicResult(TypedDict):
    name: str
    topic_id: NotRequired[UUID | None]  # 7
    error_code: int
    error_message: NotRequired[str | None]
    topic_config_error_code: NotRequired[int]  # 5+
    num_partitions: NotRequired[int]  # 5+
    replication_factor: NotRequired[int]  # 5+
    configs: NotRequired[list[CreatableTopicConfigs] | None]  # 5+

class CreateTopicsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    topics: list[CreatableTopicResult]
