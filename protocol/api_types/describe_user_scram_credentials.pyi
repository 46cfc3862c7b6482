"""DescribeUserScramCredentials (50), versions 0-0; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class UserName(Protocol):
    @property
    def name(self) -> str: ...

class DescribeUserScramCredentialsRequest(Protocol):
    users: Sequence[UserName] | None

class CredentialInfo(TypedDict):
    mechanism: int
    iterations: int

class DescribeUserScramCredentialsResult(TypedDict):
    user: str
    error_code: int
    error_message: NotRequired[str | None]
    credential_infos: list[CredentialInfo]

class DescribeUserScramCredentialsResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    results: list[DescribeUserScramCredentialsResult]
