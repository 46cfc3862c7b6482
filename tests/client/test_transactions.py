"""The version of EndTxn that a client chooses, from what a broker and its cluster have."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ottla.client.admin.transactions import end_txn_version
from ottla.client.cluster_client import Client
from ottla.protocol import messages
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.requests import read_answer

FEATURE = "transaction.version"


class AnsweringClient:
    """Answers ApiVersions as a broker with these versions and this feature does."""

    def __init__(self, newest: int, level: int | None) -> None:
        level_of = {"name": FEATURE, "max_version_level": level, "min_version_level": level}
        body = {
            "error_code": 0,
            "api_keys": [{"api_key": ApiKey.END_TXN, "min_version": 0, "max_version": newest}],
            "supported_features": [{"name": FEATURE, "min_version": 0, "max_version": 2}],
            "finalized_features": [] if level is None else [level_of],
        }
        frame = bytes(messages.answer(ApiKey.API_VERSIONS, 3, 1, body))
        self.answer = read_answer(ApiKey.API_VERSIONS, 3, 1, frame[4:])
        self.asked: list[int | None] = []

    def ask(self, api_key: ApiKey, _body: object, *, node_id: int | None) -> Any:
        assert api_key is ApiKey.API_VERSIONS
        self.asked.append(node_id)
        return self.answer


@pytest.mark.parametrize(
    ("newest", "level", "version"),
    [(5, 2, 5), (6, 2, 5), (5, 3, 5), (5, 1, 4), (5, 0, 4), (5, None, 4), (4, 2, 4), (3, 2, 3)],
)
def test_an_end_fences_if_the_broker_and_its_cluster_can(
    newest: int, level: int | None, version: int
) -> None:
    """EndTxn 5 raises the epoch, and only from transaction.version 2 on (KIP-890)."""
    client = AnsweringClient(newest, level)
    assert end_txn_version(cast("Client", client), 7) == version
    assert set(client.asked) == {7}
