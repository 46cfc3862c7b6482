"""Delegation tokens (KIP-48), which Ottla does not give out: what who asks for one is told.

Kafka refuses two ways: over a connection that does not tell who is at the other end, and where no
secret key is set (DelegationTokenManager, KafkaApis.allowTokenRequests).
"""

from __future__ import annotations

from typing import Final

from ...protocol.errors import Code
from ..principals import ANONYMOUS
from .context import Context

NO_TIME_MS: Final = -1


def why_refused(context: Context) -> Code:
    """The code that every request about tokens is answered with."""
    if context.principal == ANONYMOUS:
        return Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return Code.DELEGATION_TOKEN_AUTH_DISABLED
