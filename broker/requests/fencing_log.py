"""Log lines about requests of fenced producers and members, which their clients see as errors."""

from __future__ import annotations

from typing import Final

from ...protocol.errors import Code, Refused
from ..log_output import Log
from .context import Context

_PRODUCERS: Final = (
    Code.PRODUCER_FENCED, Code.INVALID_PRODUCER_EPOCH, Code.INVALID_PRODUCER_ID_MAPPING,
)  # fmt: skip
_MEMBERS: Final = (Code.FENCED_INSTANCE_ID, Code.FENCED_MEMBER_EPOCH)

_producers = Log("producers")
_members = Log("groups")


def log_fenced(context: Context, refused: Refused, **fields: object) -> None:
    """Log the refusal of a fenced producer or member; other refusals are passed over.

    Args:
        fields: who is refused: the transactional id, the partition, the group.
    """
    if refused.code in _PRODUCERS:
        log, event = _producers, "a request of a fenced producer is refused"
    elif refused.code in _MEMBERS:
        log, event = _members, "a request of a fenced member is refused"
    else:
        return
    if context.connection.may_complain(event):
        log.info(
            event, error=refused.code.name, reason=refused.why, **fields, **context.log_fields()
        )
