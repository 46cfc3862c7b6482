"""AlterUserScramCredentials (51), version 0: set or delete the passwords of users (KIP-554).

The client salts the password; the stored credential can verify it but does not reveal it. Each user
has its own result: an error of one does not affect the others.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...metadata.scram import Deletion, Upsertion
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..requests.authorization import Operation, must_cluster
from ..requests.context import Context
from ..requests.dispatch import serves

if TYPE_CHECKING:
    from ...protocol.api_types.alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest,
        AlterUserScramCredentialsResponse,
        AlterUserScramCredentialsResult,
    )
    from ..node import Node


@serves(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0))
async def alter_user_scram_credentials(
    node: Node, context: Context, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    deletions = [Deletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
        for each in request.upsertions
    ]
    try:
        must_cluster(node, context, Operation.ALTER)
    except Refused as refused:
        names = [each.name for each in request.deletions] + [e.name for e in request.upsertions]
        return {"results": [_result(name, refused) for name in dict.fromkeys(names)]}
    results, records = node.catalog.scram.alter(deletions, upsertions)
    try:
        node.controller.change(records)
        await node.decided()
    except Refused as refused:  # the disk
        results = dict.fromkeys(results, refused)
    return {"results": [_result(*each) for each in results.items()]}


def _result(name: str, refused: Refused | None) -> AlterUserScramCredentialsResult:
    return {
        "user": name,
        "error_code": Code.NONE if refused is None else refused.code,
        "error_message": None if refused is None else refused.why,
    }
