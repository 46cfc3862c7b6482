"""DescribeCluster (60), versions 0-2; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict

class DescribeClusterRequest(Protocol):
    include_cluster_authorized_operations: bool
    endpoint_type: int  # 1+
    include_fenced_brokers: bool  # 2

class DescribeClusterBroker(TypedDict):
    broker_id: int
    host: str
    port: int
    rack: NotRequired[str | None]
    is_fenced: NotRequired[bool]  # 2

class DescribeClusterResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    endpoint_type: NotRequired[int]  # 1+
    cluster_id: str
    controller_id: NotRequired[int]
    brokers: list[DescribeClusterBroker]
    authorized_operations: NotRequired[frozenset[int] | None]
