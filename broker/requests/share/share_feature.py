"""Whether the cluster has share groups: the feature share.version (KIP-932).

A directory of Kafka 4.1 whose features were never upgraded has level 0. Requests of share groups
are then UNSUPPORTED_VERSION, so that the client learns that share groups are switched off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....protocol.errors import Code, Refused

if TYPE_CHECKING:
    from ...node import Node

NOT_ENABLED: Final = "The version of API is not supported."
"""The message of the APIs that have one."""


def check_share_groups(node: Node, why: str | None = None) -> None:
    """Check that the cluster has share groups.

    Args:
        why: the message of the refusal.

    Raises:
        Refused: UNSUPPORTED_VERSION.
    """
    if node.catalog.features.get("share.version", 0) < 1:
        raise Refused(Code.UNSUPPORTED_VERSION, why)
