"""The error codes for requests about delegation tokens (KIP-48), which Ottla does not have.

Kafka refuses such requests for two reasons: the connection is not authenticated, or no secret key
is configured (DelegationTokenManager, KafkaApis.allowTokenRequests).
"""

from __future__ import annotations

from typing import Final

from ...protocol.errors import Code
from ..principals import ANONYMOUS
from .context import Context

NO_TIME_MS: Final = -1


def why_refused(context: Context) -> Code:
    """The error code for any request about tokens."""
    if context.principal == ANONYMOUS:
        return Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return Code.DELEGATION_TOKEN_AUTH_DISABLED
