"""Whatever members do, the machine agrees with a model that keeps each record by itself.

Ranges never overlap, no record is delivered more often than allowed, and in the end each one was
accepted, given up or deleted. `python -m tests.coordinator.share_partition.random_run SEED` prints
the run of a seed.
"""

from __future__ import annotations

import pytest

from tests.coordinator.share_partition.random_run import run


@pytest.mark.parametrize("seed", range(60))
def test_no_record_is_lost_and_none_is_delivered_too_often(seed: int) -> None:
    ended = run(seed)
    assert ended.delivered, "the run delivers records"
