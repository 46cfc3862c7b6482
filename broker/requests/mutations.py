"""The quota of partition mutations: partitions that a client creates or deletes (KIP-599)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ..node import Node
    from .context import Context

Mutate: TypeAlias = Callable[[int], None]
"""Called with a number of partitions before they are created or deleted; may raise Refused."""


def mutations(node: Node, context: Context, *, strict_since: int) -> Mutate | None:
    """The function that counts the mutations of a request; None if no quota is set.

    Args:
        strict_since: the first API version that refuses mutations beyond the quota; in older
            versions all are done, and the client is throttled afterwards.
    """
    if node.quotas is None:
        return None
    from .throttling import mutating

    return mutating(node, context, strict_since=strict_since)
