"""Kafka's tools read Ottla's metadata snapshots, and Kafka starts on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..wire.client import until
from .dump import complaints, dumped
from .on_disk import OFTEN, newest_snapshot
from .place import Place
from .seen import seen
from .story import Story

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_kafka_starts_on_a_metadata_log_that_begins_with_our_snapshot(
    place: Place, kill: bool
) -> None:
    story, log = Story(), place.data / "__cluster_metadata-0"
    with place.ottla(settings=OFTEN, kill=kill) as ottla:
        story.play(ottla.bootstrap)
        assert until(lambda: newest_snapshot(log) > 0, bool)
        before = seen(ottla.bootstrap)
    found = snapshots(log)
    output = dumped(found, "--cluster-metadata-decoder", "--deep-iteration")
    assert complaints(output) == []
    for said in ("SnapshotHeader", "SnapshotFooter", '"type":"TOPIC_RECORD"', "FEATURE_LEVEL"):
        assert said in output
    without_the_beginning(log)
    with place.kafka() as kafka:
        assert seen(kafka) == before
        story.play(kafka)
        left = seen(kafka)
    with place.ottla(settings=OFTEN) as ottla:
        assert seen(ottla.bootstrap) == left
    assert place.complaints == []


def snapshots(log: Path) -> list[Path]:
    return sorted(log.glob("*.checkpoint"))


def without_the_beginning(log: Path) -> None:
    """Keep only one snapshot, so that no other file has its records."""
    found = snapshots(log)
    for older in found[:-1]:
        older.unlink()
