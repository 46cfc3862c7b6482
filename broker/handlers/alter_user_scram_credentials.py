"""AlterUserScramCredentials (51), version 0: set or delete the passwords of users (KIP-554).

The client salts the password; the stored credential can verify it but does not reveal it. Each user
has its own result: an error of one does not affect the others.
Skipped: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...metadata.records import MetadataRecord
from ...metadata.scram import Alteration, Deletion, Upsertion
from ...protocol.api_keys import ApiKey
from ...protocol.errors import Code, Refused
from ..requests.authorization import Operation, must_cluster
from ..requests.context import Context
from ..requests.dispatch import serves
from ..runtime.encoded_ahead import ATTEMPTS, encoded_ahead

if TYPE_CHECKING:
    from ...protocol.api_types.alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest,
        AlterUserScramCredentialsResponse,
        AlterUserScramCredentialsResult,
    )
    from ...protocol.batch import Framed
    from ..node import Node


@serves(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0))
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
    alteration, records, framed = await _decided(node, context, changes)
    results = alteration.results
    try:
        node.controller.change(records, framed)
        await node.decided()
    except Refused as refused:  # the disk
        results = dict.fromkeys(results, refused)
    return {"results": [_result(*each) async for each in turns.each(results.items())]}


async def _decided(
    node: Node, context: Context, changes: Sequence[Deletion | Upsertion]
) -> tuple[Alteration, Sequence[MetadataRecord], Framed | None]:
    """Decide on all changes in slices, on one state of the credentials."""
    for _ in range(ATTEMPTS):
        alteration = node.catalog.scram.alteration()
        async for change in context.turns.each(changes):
            alteration.add(change)
        records, framed = await encoded_ahead(alteration.records(), context.turns)
        if not alteration.is_outdated:
            return alteration, records, framed
    # Other requests change credentials all the time: decide without a pause.
    alteration = node.catalog.scram.alteration()
    for change in changes:
        alteration.add(change)
    return alteration, [*alteration.records()], None


def _result(name: str, refused: Refused | None) -> AlterUserScramCredentialsResult:
    return {
        "user": name,
        "error_code": Code.NONE if refused is None else refused.code,
        "error_message": None if refused is None else refused.why,
    }
