"""Any number of partitions changes its leader at once, in batches of the metadata log that fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.broker.runtime.work_limits import WorkLimits
from tests.broker.several_nodes import SeveralNodes, several_nodes

pytestmark = pytest.mark.real_time(debug=True)

MOST = 5
PARTITIONS = 12


def batches_since(it: SeveralNodes, offset: int) -> list[int]:
    """How many records each batch of the metadata log has."""
    log = it.cluster.flushes.metadata_log
    sizes = []
    while offset < log.log_end_offset:
        data = log.read(offset, max_bytes=1, up_to=log.log_end_offset, min_one=True).records
        count = int.from_bytes(bytes(data)[57:61], "big")
        sizes.append(count)
        offset += count
    return sizes


async def test_a_node_that_led_very_many_partitions_leaves_and_comes_back(tmp_path: Path) -> None:
    async with several_nodes(tmp_path, 3, WorkLimits(metadata_batch_records=MOST)) as it:
        first, second = sorted(it.nodes)[:2]
        it.topic("orders", *[second] * PARTITIONS, replicas=2)
        before = it.cluster.flushes.metadata_log.log_end_offset
        await it.stop(second)
        assert {it.partition("orders", index).leader_id for index in range(PARTITIONS)} == {first}
        await it.start(second)
        in_sync = [set(it.partition("orders", index).isr) for index in range(PARTITIONS)]
        assert in_sync == [{first, second}] * PARTITIONS
        sizes = batches_since(it, before)
        assert max(sizes) == MOST
        assert sum(sizes) >= 2 * PARTITIONS
