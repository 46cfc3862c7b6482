"""InitProducerId (22), versions 0-6: get a producer id and epoch, which fences older epochs.

0-3  a fenced producer gets INVALID_PRODUCER_EPOCH
2    flexible encoding
3    the client may send its id and epoch, to continue after an error (KIP-360)
4    a fenced producer gets PRODUCER_FENCED
5    clients handle TRANSACTION_ABORTABLE (KIP-890), which is never the answer here
6    two-phase commit (KIP-939): transactions without a timeout, and prepared transactions that
     are kept; offered only with `unstable.api.versions.enable`, as in Kafka, whatever
     `transaction.two.phase.commit.enable` is

An open transaction is aborted first, under an epoch that no producer gets, and the answer is
CONCURRENT_TRANSACTIONS. The markers are written at once, so that the client's retry succeeds.
With `keep_prepared_txn` the open transaction stays; the answer has its producer id and epoch too,
and the new producer may only end it. Kafka 4.1 to 4.3 answer UNSUPPORTED_VERSION to that field, and
so does Ottla without `transaction.two.phase.commit.enable`.
Skipped: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....coordinator.outcome import Producer
from ....coordinator.partitioning import check_transactional_id
from ....coordinator.transactions.states import Kept
from ....protocol.api_keys import ApiKey
from ....protocol.errors import Code, Refused
from ...log_output import Log
from ...requests.api import code_for, serves
from ...requests.context import Context
from ...requests.fencing_log import log_fenced

if TYPE_CHECKING:
    from ....protocol.api_types.init_producer_id import (
        InitProducerIdRequest,
        InitProducerIdResponse,
    )
    from ...node import Node

_TWO_PHASES_SINCE: Final = 6

_log = Log("transactions")


@serves(
    ApiKey.INIT_PRODUCER_ID,
    versions=(0, 5),
    guard="transactions.init_producer_id",
    highest_unstable=6,
    older_codes={Code.PRODUCER_FENCED: (4, Code.INVALID_PRODUCER_EPOCH)},
)
async def init_producer_id(
    node: Node, context: Context, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    try:
        answer = await _init(node, context, request)
    except Refused as refused:
        log_fenced(context, refused, transactional_id=request.transactional_id)
        answer = refused.code
    if isinstance(answer, Kept):
        return {
            "producer_id": answer.producer.producer_id,
            "producer_epoch": answer.producer.producer_epoch,
            "ongoing_txn_producer_id": answer.ongoing.producer_id,
            "ongoing_txn_producer_epoch": answer.ongoing.producer_epoch,
        }
    if isinstance(answer, Producer):
        return {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
    code = code_for(answer, context.api_key, context.version)
    return {"error_code": code, "producer_id": -1, "producer_epoch": -1}


async def _init(
    node: Node, context: Context, request: InitProducerIdRequest
) -> Producer | Kept | Code:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        raise Refused(Code.INVALID_REQUEST, "a producer id and no epoch, or the other way round")
    expected = None
    if request.producer_id != -1:
        expected = Producer(request.producer_id, request.producer_epoch)
    transactional_id = request.transactional_id
    if transactional_id is None:  # an idempotent producer: there is no state to keep
        return Producer(node.producer_ids.next(), 0)
    check_transactional_id(transactional_id)
    in_two_phases = keep_prepared = False
    if context.version >= _TWO_PHASES_SINCE:
        in_two_phases, keep_prepared = request.enable2_pc, request.keep_prepared_txn
    if not node.config["transaction.two.phase.commit.enable"]:
        if in_two_phases:
            raise Refused(
                Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "two-phase commit is not enabled"
            )
        if keep_prepared:
            raise Refused(Code.UNSUPPORTED_VERSION, "two-phase commit is not enabled")
    shard = node.transactions.shard_of(transactional_id)
    answer = await shard.run(
        lambda machine, now: machine.init_producer_id(
            transactional_id,
            timeout_ms=request.transaction_timeout_ms,
            expected=expected,
            in_two_phases=in_two_phases,
            keep_prepared=keep_prepared,
            now_ms=now.wall_ms,
        )
    )
    if answer is Code.CONCURRENT_TRANSACTIONS:
        _log_takeover(context, transactional_id, "its open transaction is aborted")
    elif isinstance(answer, Producer) and answer.producer_epoch and expected is None:
        _log_takeover(context, transactional_id, f"its producer epoch is {answer.producer_epoch}")
    return answer


def _log_takeover(context: Context, transactional_id: str, what: str) -> None:
    if context.connection.may_complain("new producers"):
        _log.info(
            "a new producer fences the earlier one of its transactional id",
            transactional_id=transactional_id, now=what, **context.log_fields(),
        )  # fmt: skip
