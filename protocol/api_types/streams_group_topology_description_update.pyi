"""StreamsGroupTopologyDescriptionUpdate (93), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class TopologyDescriptionNode(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def node_type(self) -> int: ...
    @property
    def source_topics(self) -> Sequence[str]: ...
    @property
    def sink_topic(self) -> str | None: ...
    @property
    def stores(self) -> Sequence[str]: ...
    @property
    def successors(self) -> Sequence[str]: ...

class TopologyDescriptionSubtopology(Protocol):
    @property
    def subtopology_id(self) -> str: ...
    @property
    def nodes(self) -> Sequence[TopologyDescriptionNode]: ...

class TopologyDescriptionGlobalStore(Protocol):
    @property
    def source(self) -> TopologyDescriptionNode: ...
    @property
    def processor(self) -> TopologyDescriptionNode: ...

class TopologyDescription(Protocol):
    @property
    def subtopologies(self) -> Sequence[TopologyDescriptionSubtopology]: ...
    @property
    def global_stores(self) -> Sequence[TopologyDescriptionGlobalStore]: ...

class StreamsGroupTopologyDescriptionUpdateRequest(Protocol):
    group_id: str
    member_id: str
    topology_epoch: int
    topology_description: TopologyDescription

class StreamsGroupTopologyDescriptionUpdateResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
