"""DescribeUserScramCredentials (50), version 0: mechanisms and iterations of users' credentials.

Null or an empty list means all users (KIP-554). The answer never has keys or salts.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import Operation, may_cluster
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponse,
        DescribeUserScramCredentialsResult,
    )
    from ...node import Node


@serves(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def describe_user_scram_credentials(
    node: Node, context: Context, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    if not may_cluster(node, context, Operation.DESCRIBE):
        refused = Refused(Code.CLUSTER_AUTHORIZATION_FAILED)
        return {
            "error_code": refused.code,
            "error_message": None,
            "results": [_told("", refused) for _ in request.users or ()],
        }
    turns = context.turns
    names = [user.name async for user in turns.each(request.users or ())]
    described = turns.each(node.catalog.scram.describe(names))
    return {"error_message": "", "results": [_told(*each) async for each in described]}


def _told(name: str, result: Refused | list[tuple[int, int]]) -> DescribeUserScramCredentialsResult:
    if isinstance(result, Refused):
        return {
            "user": name,
            "error_code": result.code,
            "error_message": result.why,
            "credential_infos": [],
        }
    return {
        "user": name,
        "error_code": Code.NONE,
        "error_message": "",
        "credential_infos": [
            {"mechanism": mechanism, "iterations": iterations} for mechanism, iterations in result
        ],
    }
