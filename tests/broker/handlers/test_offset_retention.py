"""OffsetCommit 2-4: the client says how long its offsets are kept; later versions cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.coordinator.group_records import OffsetCommitted, decode
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.batch import headers_in
from ottla.protocol.records import records_in
from tests.broker.one_node import OneNode, one_node

RETENTION_MS = 5_000


def kept_for_ms(one: OneNode) -> int | None:
    """How long the committed offset is kept; None: as the broker's settings say."""
    log = one.log("__consumer_offsets")
    data = log.read(0, max_bytes=1 << 20, up_to=log.log_end_offset, min_one=True).records
    ((position, header),) = headers_in(data)
    (stored,) = records_in(data, position, header)
    record = decode(stored.key or b"", stored.value)
    assert isinstance(record, OffsetCommitted), record
    if record.expire_timestamp_ms is None:
        return None
    return record.expire_timestamp_ms - record.commit_timestamp_ms


@pytest.mark.parametrize("version", range(2, 10))
@pytest.mark.parametrize("retention_ms", [RETENTION_MS, -1])
async def test_a_retention_is_of_versions_2_to_4_and_minus_1_is_none(
    tmp_path: Path, version: int, retention_ms: int
) -> None:
    has_retention = version <= 4
    async with one_node(tmp_path, offsets_topic_num_partitions="1") as one:
        one.topic("orders")
        one.topic("__consumer_offsets")
        partition = {"partition_index": 0, "committed_offset": 7}
        fields = {"retention_time_ms": retention_ms} if has_retention else {}
        answer = await one.ask(
            ApiKey.OFFSET_COMMIT, version, group_id="books",
            topics=[{"name": "orders", "partitions": [partition]}], **fields,
        )  # fmt: skip
        assert answer["topics"][0]["partitions"][0]["error_code"] == 0
        expected = RETENTION_MS if has_retention and retention_ms == RETENTION_MS else None
        assert kept_for_ms(one) == expected
