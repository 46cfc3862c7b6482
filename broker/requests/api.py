"""The declaration of an API, by the decorator `serves` at its handler.

Everything about an API that is not its own code is said there, once: versions, authorization, the
error codes of its older versions. `make apis` derives from it what must be known before the
handler is imported (`served_apis.py`), the types of its messages, and the table of
docs/reference/compatibility.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from ...protocol.acls import AclResource, Operation
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code
from ...protocol.named_tuple import NamedTuple
from .handler import Handler

Function = TypeVar("Function", bound=Handler)

Versions: TypeAlias = tuple[int, int]
"""The lowest and the highest."""

OlderCodes: TypeAlias = Mapping[Code, tuple[int, Code]]
"""The first version of an API with an error code, and the code that earlier versions get."""

NEVER: Final = 1 << 15
"""For `OlderCodes`: no version has the code."""


class NoGuard(Enum):
    """Why an API has no guard."""

    OPEN = "it needs no authorization"
    CHECKED_BY_HANDLER = "its handler checks the authorization"


OPEN: Final = NoGuard.OPEN
CHECKED_BY_HANDLER: Final = NoGuard.CHECKED_BY_HANDLER


class OnCluster(NamedTuple):
    """Requests are allowed or not as a whole, by a right on the cluster.

    Attributes:
        why: the message of a refusal; None for the usual one.
    """

    operation: Operation
    why: str | None = None


class OnResource(NamedTuple):
    """Requests are allowed or not as a whole, by a right on the resource that a field names."""

    operation: Operation
    resource: AclResource
    field: str


Guard: TypeAlias = NoGuard | OnCluster | OnResource | str
"""Who may use an API. A text is MODULE.FUNCTION of a guard in `guards/`, which removes the parts of
a request that its sender may not use."""


class Served(NamedTuple):
    """The versions of an API, and the module of its handler below `broker/handlers/`.

    Attributes:
        closed_below, highest_unstable: see `serves`.
    """

    lowest: int
    highest: int
    module: str
    closed_below: int = 0
    highest_unstable: int = -1


class Api(NamedTuple):
    """What serves an API, and who may use it."""

    handler: Handler
    guard: Guard
    older_codes: OlderCodes = MappingProxyType({})


APIS: Final[dict[int, Api]] = {}
"""The APIs whose handlers are imported."""

DECLARED: Final[dict[ApiKey, Served]] = {}
"""The versions that these handlers declare; `served_apis.py` has those of all handlers."""


def serves(
    api_key: ApiKey,
    *,
    versions: Versions,
    guard: Guard,
    closed_below: int = 0,
    highest_unstable: int = -1,
    older_codes: OlderCodes = MappingProxyType({}),
) -> Callable[[Function], Function]:
    """Declare a function as the handler of an API; one function may serve several APIs.

    Args:
        versions: all that Kafka 4.4 offers.
        guard: who may use the API, if the broker has an authorizer.
        closed_below: lower versions are offered, but close the connection. Kafka offers Produce
            from 0 on for old versions of librdkafka, and answers from 3 on (KIP-896).
        highest_unstable: the highest version with `unstable.api.versions.enable`.
        older_codes: see `code_for`.
    """

    def declare(function: Function) -> Function:
        module = function.__module__.rpartition(".handlers.")[2]
        DECLARED[api_key] = Served(*versions, module, closed_below, highest_unstable)
        APIS[api_key] = Api(function, guard, older_codes)
        return function

    return declare


def code_for(code: Code, api_key: ApiKey, version: int) -> Code:
    """The error code to return in this version of an API whose handler is imported."""
    since, before = APIS[api_key].older_codes.get(code, (0, code))
    return code if version >= since else before
