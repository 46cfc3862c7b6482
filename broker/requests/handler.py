"""The type of a handler, which answers the requests of one API."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ..node import Node
    from .context import Context

Body: TypeAlias = Mapping[str, object]
"""The fields of an answer, by name."""
# Any: each handler takes the request of its API.
Handler: TypeAlias = Callable[["Node", "Context", Any], Coroutine[object, None, Body | None]]
"""Takes the node, the context and the decoded request; returns None if there is no answer."""
