"""Errors that a healthy client expects: they are a part of how it talks with a broker.

It asks again, and goes on. So nothing shows them as trouble, unless they do not end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

UNENDING: Final = 3
"""So many of a kind without an accepted request behind them are trouble."""
_EXPECTED: Final[Mapping[str, str]] = {
    "MEMBER_ID_REQUIRED": "the member joins again with the id that it got",
    "CONCURRENT_TRANSACTIONS": "the last transaction is still being ended, the client asks again",
    "COORDINATOR_LOAD_IN_PROGRESS": "the coordinator reads its log, the client asks again",
    "COORDINATOR_NOT_AVAILABLE": "there is no coordinator yet, the client asks again",
    "NOT_COORDINATOR": "the client looks for the coordinator again",
    "REBALANCE_IN_PROGRESS": "the member joins again",
    "UNSTABLE_OFFSET_COMMIT": "a transaction has pending offsets, the client asks again",
    "FETCH_SESSION_ID_NOT_FOUND": "the reader begins a new fetch session",
    "INVALID_FETCH_SESSION_EPOCH": "the reader begins a new fetch session",
}
_OF_METADATA: Final[Mapping[str, str]] = {
    "UNKNOWN_TOPIC_OR_PARTITION": "the topic is being created, the client asks again",
    "LEADER_NOT_AVAILABLE": "the topic has just been created, the client asks again",
}


def why_expected(api: str, code: str) -> str | None:
    """What a healthy client does after an error code of an API; None if it does not expect it."""
    found = _EXPECTED.get(code)
    return _OF_METADATA.get(code) if found is None and api == "Metadata" else found


def are_expected(api: str, codes: Iterable[str]) -> bool:
    """Whether a healthy client expects each of these codes of an API; false without codes."""
    found = list(codes)
    return bool(found) and all(why_expected(api, each) is not None for each in found)
