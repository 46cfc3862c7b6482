"""AlterUserScramCredentials (51), version 0: set or delete the passwords of users (KIP-554).

The client salts the password; the stored credential can verify it but does not reveal it. Each user
has its own result: an error of one does not affect the others.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....metadata.scram import Deletion, Upsertion
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import Operation, must_cluster
from ...requests.context import Context
from ...runtime.shards.encoded_ahead import decide_ahead

if TYPE_CHECKING:
    from ....protocol.api_types.alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest,
        AlterUserScramCredentialsResponse,
        AlterUserScramCredentialsResult,
    )
    from ...node import Node


@serves(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), guard=CHECKED_BY_HANDLER)
async def alter_user_scram_credentials(
    node: Node, context: Context, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    turns = context.turns
    changes: list[Deletion | Upsertion] = [
        Deletion(each.name, each.mechanism) async for each in turns.each(request.deletions)
    ]
    async for each in turns.each(request.upsertions):
        credential = each.iterations, each.salt, each.salted_password
        changes.append(Upsertion(each.name, each.mechanism, *credential))
    try:
        must_cluster(node, context, Operation.ALTER)
    except Refused as refused:
        names = dict.fromkeys(change.name for change in changes)
        return {"results": [_result(name, refused) async for name in turns.each(names)]}
    begin = node.catalog.scram.alteration
    results, records, framed = await decide_ahead(begin, changes, turns)
    try:
        node.controller.change(records, framed)
        await node.decided()
    except Refused as refused:  # the disk
        results = dict.fromkeys(results, refused)
    return {"results": [_result(*each) async for each in turns.each(results.items())]}


def _result(name: str, refused: Refused | None) -> AlterUserScramCredentialsResult:
    return {
        "user": name,
        "error_code": Code.NONE if refused is None else refused.code,
        "error_message": None if refused is None else refused.why,
    }
