"""Error codes for clients of a coordinator whose log refuses an append.

Answers of coordinators' APIs may not have storage errors. A client gets COORDINATOR_NOT_AVAILABLE
or NOT_COORDINATOR, so that it looks the coordinator up again, or UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from typing import Final

from ....protocol.errors import Code

TOO_LARGE: Final = frozenset({Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE})

_CODES: Final = {
    Code.UNKNOWN_TOPIC_OR_PARTITION: Code.COORDINATOR_NOT_AVAILABLE,
    Code.NOT_ENOUGH_REPLICAS: Code.COORDINATOR_NOT_AVAILABLE,
    Code.REQUEST_TIMED_OUT: Code.COORDINATOR_NOT_AVAILABLE,
    Code.NOT_LEADER_OR_FOLLOWER: Code.NOT_COORDINATOR,
    Code.KAFKA_STORAGE_ERROR: Code.NOT_COORDINATOR,
    Code.MESSAGE_TOO_LARGE: Code.UNKNOWN_SERVER_ERROR,
    Code.RECORD_LIST_TOO_LARGE: Code.UNKNOWN_SERVER_ERROR,
    Code.INVALID_FETCH_SIZE: Code.UNKNOWN_SERVER_ERROR,
}


def of_groups(code: Code) -> Code:
    """The code for group APIs, by the log's code (CoordinatorOperationExceptionHelper)."""
    return _CODES.get(code, code)


def of_transactions(code: Code) -> Code:
    """The code for transaction APIs (TransactionStateManager.appendTransactionToLog)."""
    if code is Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
        return Code.COORDINATOR_NOT_AVAILABLE
    return _CODES.get(code, Code.UNKNOWN_SERVER_ERROR)
