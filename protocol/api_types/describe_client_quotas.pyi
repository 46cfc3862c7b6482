"""DescribeClientQuotas (48), versions 0-1; made by `make message-types`."""

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict

class ComponentData(Protocol):
    @property
    def entity_type(self) -> str: ...
    @property
    def match_type(self) -> int: ...
    @property
    def match(self) -> str | None: ...

class DescribeClientQuotasRequest(Protocol):
    components: Sequence[ComponentData]
    strict: bool

class EntityData(TypedDict):
    entity_type: str
    entity_name: NotRequired[str | None]

class ValueData(TypedDict):
    key: str
    value: float

class EntryData(TypedDict):
    entity: list[EntityData]
    values: list[ValueData]

class DescribeClientQuotasResponse(TypedDict):
    throttle_time_ms: NotRequired[int]
    error_code: NotRequired[int]
    error_message: NotRequired[str | None]
    entries: NotRequired[list[EntryData] | None]
