"""AlterUserScramCredentials (51), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class ScramCredentialDeletion(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def mechanism(self) -> int: ...

class ScramCredentialUpsertion(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def mechanism(self) -> int: ...
    @property
    def iterations(self) -> int: ...
    @property
    def salt(self) -> bytes: ...
    @property
    def salted_password(self) -> bytes: ...

class AlterUserScramCredentialsRequest(Protocol):
    deletions: Sequence[ScramCredentialDeletion]
    upsertions: Sequence[ScramCredentialUpsertion]

class AlterUserScramCredentialsResult(TypedDict):
    user: str
    error_code: int
    error_message: NotRequired[str | None]

class AlterUserScramCredentialsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    results: list[AlterUserScramCredentialsResult]
