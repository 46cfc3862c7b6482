"""Before a topic is created: what is left of an earlier one of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.errors import Code, Refused
from .blocking_steps import NO_RESOURCES, in_threads, reason_of

if TYPE_CHECKING:
    from ....storage.log_directory import LogDirectory


async def finish_deletion(directory: LogDirectory, name: str) -> None:
    """Finish the deletion of a topic that had the name, without a wait in the event loop.

    Raises:
        Refused: KAFKA_STORAGE_ERROR: no topic of that name can be created now.
    """
    if not directory.has_deletions_of(name):
        return
    try:
        await in_threads(directory.finish_deletions_in_steps(name))
    except NO_RESOURCES as failed:
        raise Refused(Code.KAFKA_STORAGE_ERROR, reason_of(failed)) from failed
