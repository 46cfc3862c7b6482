"""The transactions of a cluster: open ones first, a page described, their ages by a given time."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..client.admin.transactions import (
    NO_TIMEOUT_MS,
    OPEN,
    Transaction,
    describe_transactions,
    fence,
    find_transaction,
)
from ..client.cluster_client import Client, ErrorAnswer, NoAnswer
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code
from .catalog import ask_each_node

_ORDER: Final = ("PrepareCommit", "PrepareAbort", "PrepareEpochFence", "Ongoing")
"""The states of transactions under way, in the order of a list."""


class Listed(NamedTuple):
    """A transactional id as its coordinator lists it (ListTransactions)."""

    order: int
    transactional_id: str
    state: str
    producer_id: int
    node_id: int

    @property
    def is_open(self) -> bool:
        """Whether its transaction is not over."""
        return self.order < len(_ORDER)


def list_transactions(client: Client) -> tuple[list[Listed], list[str]]:
    """All transactional ids, those with an open transaction first; and what could not be asked."""
    body: dict[str, list[str]] = {"state_filters": [], "producer_id_filters": []}
    answers, problems = ask_each_node(client, ApiKey.LIST_TRANSACTIONS, body)
    found = []
    for node_id, answer in answers.items():
        for each in answer.transaction_states:
            state = each.transaction_state
            order = _ORDER.index(state) if state in _ORDER else len(_ORDER)
            found.append(Listed(order, each.transactional_id, state, each.producer_id, node_id))
    return sorted(found), problems


def transaction_rows(client: Client, listed: list[Listed], now_ms: int) -> list[dict[str, object]]:
    """The rows of a page of transactional ids: one request to each of their coordinators.

    Args:
        now_ms: the time of the brokers' clocks.
    """
    by_node: dict[int, list[str]] = {}
    for each in listed:
        by_node.setdefault(each.node_id, []).append(each.transactional_id)
    known: dict[str, Transaction] = {}
    for node_id, ids in by_node.items():
        try:
            known |= {
                each.transactional_id: each for each in describe_transactions(client, ids, node_id)
            }
        except (ErrorAnswer, NoAnswer):  # its rows have what the list says
            continue
    rows: list[dict[str, object]] = []
    for each in listed:
        row: dict[str, object] = {
            "transactional_id": each.transactional_id,
            "state": each.state,
            "producer_id": each.producer_id,
            "coordinator": each.node_id,
        }
        found = known.get(each.transactional_id)
        if found is not None:
            age_ms = found.open_ms(now_ms)
            has_end = found.state == "Ongoing" and found.timeout_ms != NO_TIMEOUT_MS
            row |= {
                "state": found.state,
                "producer_id": found.producer_id,
                "producer_epoch": found.producer_epoch,
                "timeout_ms": found.timeout_ms,
                "started_ms": found.started_ms if found.started_ms >= 0 else None,
                "age_ms": age_ms,
                "left_ms": found.timeout_ms - age_ms if has_end and age_ms is not None else None,
                "partitions": list(found.partitions) if found.state in OPEN else [],
                "may_abort": found.state == "Ongoing",
            }
        rows.append(row)
    return rows


def abort(client: Client, transactional_id: str) -> dict[str, object]:
    """Abort the open transaction of an id as a new producer would, which fences the old one.

    Without one nothing happens: it may have ended since a viewer saw it. To fence would then end a
    healthy producer, or make an id that no producer has.

    Raises:
        ErrorAnswer: there is none (INVALID_TXN_STATE), or the coordinator refuses. NoAnswer: it is
            away.
    """
    known = find_transaction(client, transactional_id)
    if known is None or known.state != "Ongoing":
        why = f"it has no open transaction: it is {'not known' if known is None else known.state}"
        raise ErrorAnswer(Code.INVALID_TXN_STATE, transactional_id, why)
    epoch = fence(client, transactional_id, timeout_ms=known.timeout_ms)
    return {"transactional_id": transactional_id, "producer_epoch": epoch}
