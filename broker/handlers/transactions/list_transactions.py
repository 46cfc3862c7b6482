"""ListTransactions (66), versions 0-2: list the transactional ids of this node (KIP-664).

1    a filter by the duration of open transactions (KIP-994)
2    a filter by a regular expression for the whole id (KIP-1152)

An unknown state matches nothing, and the answer names it. Expressions have the syntax of RE2.
Skipped: nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ....coordinator.transactions.states import STATE_OF_TITLE, Transaction
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...requests.api import serves
from ...requests.context import Context

if TYPE_CHECKING:
    from ....protocol.api_types.list_transactions import (
        ListTransactionsRequest,
        ListTransactionsResponse,
    )
    from ...node import Node

# RE2/J, which Kafka uses, has all of RE2 but its escape for a single byte.
_SINGLE_BYTE: Final = re.compile(r"(?:[^\\]|^)(?:\\\\)*\\C")


@serves(ApiKey.LIST_TRANSACTIONS, versions=(0, 2), guard="transactions.list_transactions")
async def list_transactions(
    node: Node, context: Context, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    pattern = request.transactional_id_pattern
    if pattern:
        _check(pattern)
    turns = context.turns
    wanted = {each: None async for each in turns.each(request.state_filters)}
    producer_ids = {each async for each in turns.each(request.producer_id_filters)}
    unknown = [title for title in wanted if title not in STATE_OF_TITLE]
    states = [STATE_OF_TITLE[title] for title in wanted if title in STATE_OF_TITLE]
    now_ms = node.clock.now_ms()
    listed: list[Transaction] = []
    if states or not wanted:
        async for shard in turns.each([*node.transactions.shards()]):
            listed += shard.ask(
                lambda machine: machine.listed(
                    now_ms=now_ms,
                    states=states,
                    producer_ids=producer_ids,
                    open_longer_than_ms=request.duration_filter,
                )
            )
    if pattern:
        ids = [each.transactional_id for each in listed]
        found = (await node.cluster.name_matching.matched([pattern], ids))[pattern]
        listed = [each for each in listed if each.transactional_id in found]
    return {
        "unknown_state_filters": unknown,
        "transaction_states": [
            {
                "transactional_id": known.transactional_id,
                "producer_id": known.producer_id,
                "transaction_state": known.state.title,
            }
            async for known in turns.each(listed)
        ],
    }


def _check(pattern: str) -> None:
    """Raises Refused: INVALID_REGULAR_EXPRESSION."""
    from ....coordinator.consumer.regexes import compiled

    if _SINGLE_BYTE.search(pattern):
        raise Refused(Code.INVALID_REGULAR_EXPRESSION, f"The pattern {pattern!r} has \\C")
    compiled(pattern)
