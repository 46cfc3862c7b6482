"""How many partitions a client may have made or deleted: asked by those who do it (KIP-599)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ..node import Node
    from .context import Context

Mutate: TypeAlias = Callable[[int], None]
"""Called with a number of partitions before they are made or deleted; may raise Refused."""


def mutations(node: Node, context: Context, *, strict_since: int) -> Mutate | None:
    """What counts the mutations of a request; None where there is no quota of them.

    Args:
        strict_since: the version from which on what is too much is refused; before it, all is done
            and the client waits afterwards.
    """
    if node.quotas is None:
        return None
    from .throttling import mutating

    return mutating(node, context, strict_since=strict_since)
