"""DescribeDelegationToken (41), versions 1-3: list the tokens of owners.

2     flexible encoding
3     the requester of each token (KIP-373)

Skipped: tokens (broker/requests/delegation_tokens.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.api_keys import ApiKey
from ...protocol.errors import Refused
from ..requests.context import Context
from ..requests.delegation_tokens import why_refused
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ...protocol.api_types.describe_delegation_token import (
        DescribeDelegationTokenRequest,
        DescribeDelegationTokenResponse,
    )
    from ..node import Node


@serves(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(1, 3))
async def describe_delegation_token(
    node: Node, context: Context, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    raise Refused(why_refused(context))
