"""AlterReplicaLogDirs (34), versions 1-2; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class AlterReplicaLogDirTopic(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def partitions(self) -> Sequence[int]: ...

class AlterReplicaLogDir(Protocol):
    @property
    def path(self) -> str: ...
    @property
    def topics(self) -> Sequence[AlterReplicaLogDirTopic]: ...

class AlterReplicaLogDirsRequest(Protocol):
    dirs: Sequence[AlterReplicaLogDir]

class AlterReplicaLogDirPartitionResult(TypedDict):
    partition_index: int
    error_code: int

class AlterReplicaLogDirTopicResult(TypedDict):
    topic_name: str
    partitions: list[AlterReplicaLogDirPartitionResult]

class AlterReplicaLogDirsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    results: list[AlterReplicaLogDirTopicResult]
