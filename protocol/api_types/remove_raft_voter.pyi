"""RemoveRaftVoter (81), versions 0-0; made by `make message-types`."""

from typing import NotRequired, Protocol, TypedDict
from uuid import UUID

class RemoveRaftVoterRequest(Protocol):
    cluster_id: str | None
    voter_id: int
    voter_directory_id: UUID | None

class RemoveRaftVoterResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
