"""AlterClientQuotas (49), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class AlterClientQuotasRequestEntityData(Protocol):
    @property
    def entity_type(self) -> str: ...
    @property
    def entity_name(self) -> str | None: ...

class OpData(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def remove(self) -> bool: ...

class AlterClientQuotasRequestEntryData(Protocol):
    @property
    def entity(self) -> Sequence[AlterClientQuotasRequestEntityData]: ...
    @property
    def ops(self) -> Sequence[OpData]: ...

class AlterClientQuotasRequest(Protocol):
    entries: Sequence[AlterClientQuotasRequestEntryData]
    validate_only: bool

class AlterClientQuotasResponseEntityData(TypedDict):
    entity_type: str
    entity_name: NotRequired[str | None]

class AlterClientQuotasResponseEntryData(TypedDict):
    error_code: int
    error_message: NotRequired[str | None]
    entity: list[AlterClientQuotasResponseEntityData]

class AlterClientQuotasResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    entries: list[AlterClientQuotasResponseEntryData]
