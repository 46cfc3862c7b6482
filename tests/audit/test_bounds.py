"""The state of the folds is bounded, and so is the work for a row."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from ottla.audit.partition import PartitionFold
from ottla.audit.rows import LogBatch, Standing, evidence
from ottla.spark.audit.main import of_directory
from ottla.spark.audit.rows import log_rows, parts_in
from tests.audit.planted import clean
from tests.audit.world import World


def first_batch(producer_id: int, offset: int, timestamp_ms: int = 1) -> LogBatch:
    return LogBatch("t", 0, offset, offset, producer_id, 0, 0, 0, max_timestamp=timestamp_ms)


class CountingFold(PartitionFold):
    """Counts the searches for silent producers."""

    searches = 0

    def _forget_silent(self) -> None:
        self.searches += 1
        super()._forget_silent()


def test_many_active_producers_are_not_searched_again_for_each_new_one() -> None:
    fold = CountingFold("t", 0, producers_kept=10)
    for at in range(1000):
        assert list(fold.row(first_batch(at, at))) == []
    assert fold.searches < 10


def test_silent_producers_are_forgotten() -> None:
    fold = PartitionFold("t", 0, expiration_ms=100, producers_kept=10)
    for at in range(1000):
        assert list(fold.row(first_batch(at, at, timestamp_ms=at * 1000))) == []
    assert len(fold._producers) <= 10


def test_a_directory_may_be_a_uri(tmp_path: Path) -> None:
    world = World()
    clean(world)
    directory = world.write(tmp_path / "data")
    by_uri, by_path = of_directory(f"file://{directory}"), of_directory(str(directory))
    names = [
        [each.task.segment.path for each in logs.parts if each.task is not None]
        for logs in (by_uri, by_path)
    ]
    assert names[0] == names[1]
    assert by_uri.metadata == by_path.metadata
    assert len(by_path.parts) > 5


def test_parts_of_a_segment_give_the_rows_of_the_whole(tmp_path: Path) -> None:
    """Entries of the index come once, before their markers, wherever the parts begin."""
    world = World()
    for epoch in range(4):
        world.transaction("id", 1, epoch, [("t", 0)], commit=epoch % 2 == 0)
    parts = parts_in(str(world.write(tmp_path / "data")))
    (whole,) = [each for each in parts if each.topic == "t"]
    rows = list(log_rows(whole))
    kinds = [type(row).__name__ for row in rows]
    assert kinds.count("AbortedEntry") == 2
    batches = [row for row in rows if isinstance(row, LogBatch)]
    assert whole.task is not None
    for batch in batches[1:]:
        first = replace(whole.task, end=batch.position)
        second = replace(whole.task, start=batch.position)
        divided = [*log_rows(whole._replace(task=first)), *log_rows(whole._replace(task=second))]
        assert divided == rows


def test_the_evidence_of_a_transaction_of_many_partitions_is_short() -> None:
    places = tuple(("topic", index) for index in range(10_000))
    (shown,) = json.loads(evidence(Standing(1, "id", "Ongoing", 0, 1, 1, 1, places, True, 0, 0)))
    assert len(shown["partitions"]) == 21
    assert shown["partitions"][-1] == "and 9980 more"
