"""Small requests of transactions and offsets take no slice of the event loop; large ones do."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.broker.requests.context import PAUSE_EVERY
from ottla.protocol.api_keys import ApiKey
from tests.broker.one_node import OneNode

pytestmark = pytest.mark.real_time


def offsets(count: int, field: str) -> dict[str, Any]:
    partitions = [{"partition_index": index} for index in range(count)]
    return {field: [{"name": "orders", "partitions": partitions}]}


def ends(count: int, field: str) -> dict[str, Any]:
    partitions = [{"partition_index": index, "timestamp": -1} for index in range(count)]
    return {field: [{"name": "orders", "partitions": partitions}]}


def empty_topics(count: int, field: str) -> dict[str, Any]:
    return {field: [{"name": f"t{number}", "partitions": []} for number in range(count)]}


def partitions_of(count: int, field: str) -> dict[str, Any]:
    return {field: [{"name": "orders", "partitions": [*range(count)]}]}


@pytest.mark.parametrize(
    ("key", "version", "field", "elements"),
    [
        (ApiKey.OFFSET_COMMIT, 8, "topics", offsets),
        (ApiKey.OFFSET_COMMIT, 8, "topics", empty_topics),
        (ApiKey.TXN_OFFSET_COMMIT, 3, "topics", offsets),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 3, "v3_and_below_topics", partitions_of),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 3, "v3_and_below_topics", empty_topics),
        (ApiKey.LIST_OFFSETS, 7, "topics", ends),
    ],
    ids=[
        "offsets",
        "topics",
        "offsets of a transaction",
        "partitions",
        "topics without any",
        "ends of partitions",
    ],
)
async def test_only_a_request_of_many_elements_begins_a_slice(
    it: OneNode, key: ApiKey, version: int, field: str, elements: Any
) -> None:
    it.topic("orders", partitions=2)
    for count, begins in ((3, False), (3 * PAUSE_EVERY, True)):
        context, _ = it.begin(key, version, **elements(count, field))
        assert (context._turns is not None) == begins, count
