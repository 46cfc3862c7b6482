"""Before a topic is created: what is left of an earlier one of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.errors import Code, Refused
from ..runtime.blocking_steps import NO_RESOURCES, in_threads, reason_of

if TYPE_CHECKING:
    from ..node import Node


async def finish_deletion(node: Node, name: str) -> Refused | None:
    """Finish the deletion of a topic that had the name, without a wait in the event loop.

    Returns:
        why no topic of that name can be created now: KAFKA_STORAGE_ERROR.
    """
    directory = node.log_directory
    if not directory.has_deletions_of(name):
        return None
    try:
        await in_threads(directory.finish_deletions_in_steps(name))
    except NO_RESOURCES as failed:
        return Refused(Code.KAFKA_STORAGE_ERROR, reason_of(failed))
    return None
