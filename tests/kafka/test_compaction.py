"""Ottla and Apache Kafka compact a log to the same records, and open each other's result."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ..wire.batches import batch
from ..wire.client import until
from .dump import INDEXES, complaints, dumped, files_in
from .on_disk import batches_of, plain
from .place import Place
from .seen import seen
from .story import OK, START_MS, connected

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

# One round cleans the whole log, because the ends of several rounds would differ.
WRITING = {"log.cleaner.backoff.ms": "3600000"}
CLEANING = {"log.cleaner.backoff.ms": "100"}
CONFIGS: dict[str, str | None] = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.bytes": "1048576",
    "index.interval.bytes": "4096",
}
NAME = "compacted"
KEYS = 7
VALUE_BYTES = 30_000
COMPRESSION = 7
LIMIT_S = 30.0


def fill(bootstrap: str) -> None:
    """Write keys repeatedly, in all codecs, some deleted, in committed and aborted transactions."""
    chosen = random.Random(3)
    with connected(bootstrap) as broker:
        broker.find_coordinators()
        assert broker.create_raw(NAME, configs=CONFIGS)["error_code"] == 0
        assert until(lambda: broker.list_offset(NAME)[0], lambda error: error == OK) == OK
        for number in range(40):
            keys = [b"%d" % chosen.randrange(KEYS) for _ in range(3)]
            values = [chosen.randbytes(VALUE_BYTES) for _ in keys]
            deleted = [None if chosen.random() < 0.2 else value for value in values]
            fields: dict[str, Any] = {
                "keys": keys,
                "timestamp": START_MS + number,
                "compression": number % 5,
            }
            if number % 4:
                data = batch(deleted, **fields)
                assert broker.produced(NAME, data)[0] == OK
                continue
            producer = broker.init("commits" if number % 8 else "aborts")
            assert producer.add(NAME) == OK
            data = producer.batch(deleted, **fields)
            name = producer.transactional_id
            assert broker.produced(NAME, data, transactional_id=name)[0] == OK
            assert producer.end(commit=bool(number % 8)) == OK
            producer.wait_ended()


def wait_until_cleaned(data: Path) -> None:
    """Wait until the checkpoint shows all but the last segment as clean."""
    last = max(int(file.stem) for file in (data / f"{NAME}-0").glob("*.log"))
    checkpoint = data / "cleaner-offset-checkpoint"

    def lines() -> list[str]:
        content = checkpoint.read_text() if checkpoint.exists() else ""
        return [line.rstrip() for line in content.splitlines()]

    cleaned = until(lines, lambda found: f"{NAME} 0 {last}" in found, limit_s=LIMIT_S)
    assert f"{NAME} 0 {last}" in cleaned


@pytest.fixture(scope="module")
def places(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Place, Place]:
    """The directories of Ottla and Kafka after each has cleaned the same log."""
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("starts an Apache Kafka: -m kafka")
    ottla, kafka = (Place(tmp_path_factory.mktemp(name)) for name in ("ottla", "kafka"))
    with ottla.ottla(settings=WRITING) as broker:
        fill(broker.bootstrap)
    with ottla.ottla(settings=CLEANING):
        wait_until_cleaned(ottla.data)
    with kafka.kafka(settings=WRITING) as bootstrap:
        fill(bootstrap)
    with kafka.kafka(settings=CLEANING):
        wait_until_cleaned(kafka.data)
    return ottla, kafka


def test_both_keep_the_same_records(places: tuple[Place, Place]) -> None:
    ours, kafkas = (
        [plain(found) for found in batches_of(place.data / f"{NAME}-0")] for place in places
    )
    for one in (*ours, *kafkas):
        if one["attributes"] & COMPRESSION:
            one.pop("size")  # another library compressed the remaining records
    assert 10 < len(ours) < 60
    assert ours == kafkas


def test_segments_begin_at_the_same_offsets(places: tuple[Place, Place]) -> None:
    ours, kafkas = (
        [file.name for file in sorted((place.data / f"{NAME}-0").glob("*.log"))] for place in places
    )
    assert ours == kafkas


def test_kafka_finds_no_fault_in_a_log_that_ottla_compacted(places: tuple[Place, Place]) -> None:
    """The tool reports gaps in both, and times of empty batches."""
    ours, kafkas = (
        [
            *wrong(place.data, [".log"], "--deep-iteration"),
            *wrong(place.data, INDEXES, "--verify-index-only"),
            *wrong(place.data, INDEXES, "--index-sanity-check"),
        ]
        for place in places
    )
    assert ours == kafkas


def wrong(data: Path, suffixes: Sequence[str], option: str) -> list[str]:
    """The faults that Kafka's tool reports for files of the topic, without the data directory.

    They are sorted, because the tool uses the order of hashes of the paths.
    """
    found = complaints(dumped(files_in(data, suffixes, NAME), option))
    return sorted(line.replace(str(data), "") for line in found)


def test_each_opens_logs_that_the_other_compacted(places: tuple[Place, Place]) -> None:
    ottla, kafka = places
    with ottla.ottla() as broker:
        left = seen(broker.bootstrap)
    with ottla.kafka() as bootstrap:
        assert seen(bootstrap) == left
    with kafka.ottla() as broker:
        left = seen(broker.bootstrap)
    with kafka.kafka() as bootstrap:
        assert seen(bootstrap) == left
    assert ottla.complaints + kafka.complaints == []
