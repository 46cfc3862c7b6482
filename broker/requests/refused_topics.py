"""Says in the log why a topic that a client asked for is not created.

The answers of Metadata and FindCoordinator do not: the first says that the topic does not exist,
the second that there is no coordinator, and the client asks again for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..log_output import Log

if TYPE_CHECKING:
    from ...protocol.errors import Refused
    from .context import Context

_log = Log("controller")


def log_refused_topic(context: Context, name: str, refused: Refused) -> None:
    """Log it, a few times a minute for each client.

    Args:
        refused: what the creation raised.
    """
    if context.connection.may_complain("topics that cannot be created"):
        _log.warning(
            "a topic that a client asks for cannot be created",
            topic=name, client=context.connection.host, reason=str(refused),
        )  # fmt: skip
