"""Delegation tokens (KIP-48), which Ottla does not give out: what who asks for one is told.

Kafka refuses two ways: over a connection that does not tell who is at the other end, and where no
secret key is set (DelegationTokenManager, KafkaApis.allowTokenRequests).
"""

from __future__ import annotations

from typing import Final

from ..protocol.errors import Code
from .context import Context

ANONYMOUS: Final = "User:ANONYMOUS"
NO_TIME_MS: Final = -1


def principal_of(context: Context) -> str:
    """TYPE:NAME of who asks."""
    return str(getattr(context, "principal", ANONYMOUS))


def why_refused(context: Context) -> Code:
    """The code that every request about tokens is answered with."""
    if principal_of(context) == ANONYMOUS:
        return Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return Code.DELEGATION_TOKEN_AUTH_DISABLED
