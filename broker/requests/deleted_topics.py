"""Before a topic is created: what is left of an earlier one of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.errors import Refused
from ..runtime.logs import finished_deletions

if TYPE_CHECKING:
    from ..node import Node


async def finish_deletion(node: Node, name: str) -> Refused | None:
    """Finish the deletion of a topic that had the name, without a wait in the event loop.

    Returns:
        why no topic of that name can be created now: KAFKA_STORAGE_ERROR.
    """
    try:
        await finished_deletions.finish_deletion(node.log_directory, name)
    except Refused as refused:
        return refused
    return None
