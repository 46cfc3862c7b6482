"""StreamsGroupDescribe (89), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class StreamsGroupDescribeRequest(Protocol):
    group_ids: Sequence[str]
    include_authorized_operations: bool
    include_topology_description: bool  # 1

class KeyValue(TypedDict):
    key: str
    value: str

class TopicInfo(TypedDict):
    name: str
    partitions: int
    replication_factor: int
    topic_configs: list[KeyValue]

class Subtopology(TypedDict):
    subtopology_id: str
    source_topics: list[str]
    repartition_sink_topics: list[str]
    state_changelog_topics: list[TopicInfo]
    repartition_source_topics: list[TopicInfo]

class Topology(TypedDict):
    epoch: int
    subtopologies: NotRequired[list[Subtopology] | None]

class Endpoint(TypedDict):
    host: str
    port: int

class TaskOffset(TypedDict):
    subtopology_id: str
    partition: int
    offset: int

class TaskIds(TypedDict):
    subtopology_id: str
    partitions: list[int]

class Assignment(TypedDict):
    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]

class Member(TypedDict):
    member_id: str
    member_epoch: int
    instance_id: NotRequired[str | None]
    rack_id: NotRequired[str | None]
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: NotRequired[Endpoint | None]
    client_tags: list[KeyValue]
    task_offsets: list[TaskOffset]
    task_end_offsets: list[TaskOffset]
    assignment: Assignment
    target_assignment: Assignment
    is_classic: bool

class TopologyDescriptionNode(TypedDict):
    name: str
    node_type: int
    source_topics: list[str]
    sink_topic: NotRequired[str | None]
    stores: list[str]
    successors: list[str]

class TopologyDescriptionSubtopology(TypedDict):
    subtopology_id: str
    nodes: list[TopologyDescriptionNode]

class TopologyDescriptionGlobalStore(TypedDict):
    source: TopologyDescriptionNode
    processor: TopologyDescriptionNode

class TopologyDescription(TypedDict):
    subtopologies: list[TopologyDescriptionSubtopology]
    global_stores: list[TopologyDescriptionGlobalStore]

class DescribedGroup(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    topology: NotRequired[Topology | None]
    members: list[Member]
    authorized_operations: NotRequired[int]
    topology_description: NotRequired[TopologyDescription | None]  # 1
    topology_description_status: NotRequired[int]  # 1
    assignor_name: NotRequired[str | None]  # 1

class StreamsGroupDescribeResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    groups: list[DescribedGroup]
