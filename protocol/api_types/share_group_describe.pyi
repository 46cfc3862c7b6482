"""ShareGroupDescribe (77), versions 1-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class ShareGroupDescribeRequest(Protocol):
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
    rack_id: NotRequired[str | None]
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    assignment: Assignment

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

class ShareGroupDescribeResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    groups: list[DescribedGroup]
