"""AlterClientQuotas (49), versions 0-1: change the quotas of users, clients and addresses.

1    flexible encoding

Each entity has its own result (KIP-546). Skipped: nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from ....metadata.client_quotas import IP, Alteration, Entity, entity_of
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import CHECKED_BY_HANDLER, serves
from ...requests.authorization import Operation, may_cluster
from ...requests.context import Context
from ...runtime.shards.encoded_ahead import decide_ahead

if TYPE_CHECKING:
    from ....protocol.api_types.alter_client_quotas import (
        AlterClientQuotasRequest,
        AlterClientQuotasResponse,
    )
    from ...node import Node


@serves(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), guard=CHECKED_BY_HANDLER)
async def alter_client_quotas(
    node: Node, context: Context, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    alterations = [
        Alteration(
            [(part.entity_type, part.entity_name) for part in entry.entity],
            [(change.key, None if change.remove else change.value) for change in entry.ops],
        )
        async for entry in context.turns.each(request.entries)
    ]
    if not may_cluster(node, context, Operation.ALTER_CONFIGS):
        refused = Refused(Code.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        refusals = {
            entity_of(each.entity): refused async for each in context.turns.each(alterations)
        }
        return await _answer(context, refusals)
    addresses = await _resolvable(alterations)
    begin = partial(node.catalog.quotas.decision, is_address=addresses.__contains__)
    results, records, framed = await decide_ahead(begin, alterations, context.turns)
    if not request.validate_only:
        try:
            node.controller.change(records, framed)
            await node.decided()
        except Refused as refused:  # the disk
            results = dict.fromkeys(results, refused)
    return await _answer(context, results)


async def _resolvable(alterations: list[Alteration]) -> set[str]:
    """The addresses in the request that are valid or can be resolved."""
    names = {name for each in alterations for kind, name in each.entity if kind == IP and name}
    found = set()
    for name in names:
        try:
            await asyncio.get_running_loop().getaddrinfo(name, None)
        except (OSError, UnicodeError):
            continue
        found.add(name)
    return found


async def _answer(
    context: Context, results: Mapping[Entity, Refused | None]
) -> AlterClientQuotasResponse:
    return {
        "entries": [
            {
                "error_code": Code.NONE if refused is None else refused.code,
                "error_message": None if refused is None else refused.why,
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
            }
            async for entity, refused in context.turns.each(results.items())
        ]
    }
