"""The checks of requests about delegation tokens (KIP-48): who may send them at all.

Follows KafkaApis.allowTokenRequests and DelegationTokenControlManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...metadata.features import METADATA_VERSION
from ...protocol.errors import Code, Refused
from ..principals import ANONYMOUS
from ..settings.listeners import SecurityProtocol
from .context import Context

if TYPE_CHECKING:
    from ..node import Node
    from ..runtime.controller.delegation_tokens import DelegationTokenSecrets

NO_TIME_MS: Final = -1
"""The times of an answer that the broker refuses; those that its controller refuses have 0."""
_LEAST_METADATA_VERSION: Final = 14  # 3.6-IV2


def check_login(context: Context) -> None:
    """Check that a client may use tokens: it has logged in, and not with a token.

    Raises:
        Refused: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
    """
    protocol, principal = context.connection.listener.protocol, context.principal
    is_open = protocol is SecurityProtocol.PLAINTEXT
    is_one_way = protocol is SecurityProtocol.SSL and principal == ANONYMOUS
    if is_open or is_one_way or principal.is_from_token:
        raise Refused(Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def secrets_of(node: Node) -> DelegationTokenSecrets:
    """The secrets of the tokens.

    Raises:
        Refused: DELEGATION_TOKEN_AUTH_DISABLED, UNSUPPORTED_VERSION.
    """
    if node.token_secrets is None:
        raise Refused(Code.DELEGATION_TOKEN_AUTH_DISABLED)
    if node.catalog.features.get(METADATA_VERSION, 0) < _LEAST_METADATA_VERSION:
        raise Refused(Code.UNSUPPORTED_VERSION)
    return node.token_secrets


def parts_of(principal: str) -> tuple[str, str]:
    """Type and name of a principal."""
    kind, _, name = principal.partition(":")
    return kind, name
