"""`ottla txn complete`: ends a prepared transaction of two-phase commit (KIP-939).

With InitProducerId 6 the command takes the transaction over, which fences its producer, and ends
it. Without that version it needs the producer id and epoch of a producer that may end it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..client.admin.transactions import Transaction, find_transaction, init_body
from ..client.cluster_client import Client, ErrorAnswer, check
from ..client.retries import COORDINATOR_MOVES, retried
from ..console.options import CannotRun
from ..console.tables import json_line, line
from ..protocol.api_keys import ApiKey
from ..protocol.errors import Code
from .transactions import failed

_KEEPS_SINCE: Final = 6
_BUMPS_SINCE: Final = 5
_BUMPING_LEVEL: Final = 2
_DECIDED: Final = {"PrepareCommit": True, "PrepareAbort": False}


class Owner(NamedTuple):
    """A producer id and epoch that may end a transaction."""

    producer_id: int
    epoch: int


class _Versions(NamedTuple):
    """What a broker offers.

    Attributes:
        init: the highest version of InitProducerId.
        end: the version of EndTxn to use: 5 if each end raises the epoch (KIP-890).
    """

    init: int
    end: int


def complete(
    client: Client,
    transactional_id: str,
    *,
    commit: bool,
    owner: Owner | None = None,
    as_json: bool = False,
) -> int:
    """End the open transaction of a transactional id; return 1 if there is none.

    Args:
        commit: False to abort.
        owner: the producer that may end it; None: take the transaction over first.

    Raises:
        CannotRun: there is no owner, and the broker lacks InitProducerId 6.
        ErrorAnswer: the coordinator refuses; CONCURRENT_TRANSACTIONS if the end takes too long.
    """
    known = find_transaction(client, transactional_id)
    state = "not known" if known is None else known.state
    if known is None or (state != "Ongoing" and _DECIDED.get(state) is not commit):
        failed(f"{transactional_id} has no transaction to complete: it is {state}")
        return 1
    if state == "Ongoing":
        offered = _versions(client, known.coordinator)
        if owner is None:
            owner = _taken_over(client, known, offered.init)
        _ended(client, transactional_id, owner, commit=commit, version=offered.end)
    if as_json:
        json_line({"transactional_id": transactional_id, "is_committed": commit})
        return 0
    decided = "" if state == "Ongoing" else ": that was already decided"
    line(f"{transactional_id} is {'committed' if commit else 'aborted'}{decided}")
    return 0


def _taken_over(client: Client, known: Transaction, version: int) -> Owner:
    """Keep the open transaction for this command; its new owner. Raises ErrorAnswer, CannotRun."""
    if version < _KEEPS_SINCE:
        raise CannotRun(
            f"txn complete: the broker has no InitProducerId {_KEEPS_SINCE}; "
            "name the producer: --producer-id N --producer-epoch N"
        )
    return _kept(client, known.transactional_id)


@retried(COORDINATOR_MOVES | {Code.CONCURRENT_TRANSACTIONS})
def _kept(client: Client, transactional_id: str) -> Owner:
    node_id = client.transaction_coordinator(transactional_id)
    body = {**init_body(transactional_id), "enable2_pc": False, "keep_prepared_txn": True}
    answer = client.ask(ApiKey.INIT_PRODUCER_ID, body, node_id=node_id, version=_KEEPS_SINCE)
    check(answer.error_code, transactional_id)
    if answer.ongoing_txn_producer_id == -1:
        raise ErrorAnswer(Code.INVALID_TXN_STATE, transactional_id, "its transaction has ended")
    return Owner(answer.producer_id, answer.producer_epoch)


@retried(COORDINATOR_MOVES | {Code.CONCURRENT_TRANSACTIONS})
def _ended(
    client: Client, transactional_id: str, owner: Owner, *, commit: bool, version: int
) -> None:
    """Send EndTxn; a retry of an end that was written is answered like the first one."""
    body = {
        "transactional_id": transactional_id,
        "producer_id": owner.producer_id,
        "producer_epoch": owner.epoch,
        "committed": commit,
    }
    node_id = client.transaction_coordinator(transactional_id)
    answer = client.ask(ApiKey.END_TXN, body, node_id=node_id, version=version)
    check(answer.error_code, transactional_id)


def _versions(client: Client, node_id: int) -> _Versions:
    named = {"client_software_name": "ottla", "client_software_version": "1"}
    answer = client.ask(ApiKey.API_VERSIONS, named, node_id=node_id)
    check(answer.error_code, "ApiVersions")
    highest = {each.api_key: each.max_version for each in answer.api_keys}
    levels = {each.name: each.max_version_level for each in answer.finalized_features}
    bumps = (
        highest[ApiKey.END_TXN] >= _BUMPS_SINCE
        and levels.get("transaction.version", 0) >= _BUMPING_LEVEL
    )
    return _Versions(highest[ApiKey.INIT_PRODUCER_ID], _BUMPS_SINCE if bumps else _BUMPS_SINCE - 1)
