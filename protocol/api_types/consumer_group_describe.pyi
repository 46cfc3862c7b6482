"""ConsumerGroupDescribe (69), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class ConsumerGroupDescribeRequest(Protocol):
    group_ids: Sequence[str]
    include_authorized_operations: bool

class TopicPartitions(TypedDict):
    topic_id: UUID | None
    topic_name: str
    partitions: list[int]

class Assignment(TypedDict):
    topic_partitions: list[TopicPartitions]

class Member(TypedDict):
    member_id: str
    instance_id: NotRequired[str | None]
    rack_id: NotRequired[str | None]
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: NotRequired[str | None]
    assignment: Assignment
    target_assignment: Assignment
    member_type: NotRequired[int]  # 1

class DescribedGroup(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: list[Member]
    authorized_operations: NotRequired[int]

class ConsumerGroupDescribeResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    groups: list[DescribedGroup]
