"""A data directory with logs of several kinds, made without a broker."""

from __future__ import annotations

from pathlib import Path

from ottla.broker.runtime.controller.controller import Controller
from ottla.broker.settings.config import BrokerConfig
from ottla.coordinator.group_records import OffsetCommitted
from ottla.coordinator.group_records import encode as encode_group
from ottla.metadata.catalog import CONSUMER_OFFSETS, Catalog
from ottla.metadata.records import EndPoint
from ottla.protocol.batch import build
from ottla.storage.appended import Origin
from ottla.storage.disk.files import RealFiles
from ottla.storage.kraft.metadata_log import MetadataLog
from ottla.storage.log_directory import LogDirectory
from tests.clocks import StillClock
from tests.storage.logs import NOW_MS, batch, config, end_of, in_transaction, sent_by


def made(path: Path) -> LogDirectory:
    """A directory with a topic of two segments, transactions, and a committed offset."""
    directory = LogDirectory.open(
        RealFiles(), str(path), node_id=1, cluster_id="here", now_ms=NOW_MS
    )
    catalog = Catalog()
    metadata_log = MetadataLog.open(directory, now_ms=NOW_MS)
    settings = BrokerConfig.from_settings({"offsets.topic.num.partitions": "1"})
    controller = Controller(catalog, metadata_log, directory, config=settings, clock=StillClock())
    controller.bootstrap()
    controller.register_broker(1, [EndPoint("PLAINTEXT", "localhost", 9092)])
    controller.create_topic("orders", partitions=2)
    controller.create_internal_topic(CONSUMER_OFFSETS)
    log = directory.log_of("orders", 0)
    assert log is not None
    log.config = config(segment_bytes=700, index_interval_bytes=100)
    for number in range(12):
        log.append(sent_by(1, number), now_ms=NOW_MS)
    log.append(in_transaction(2, 0), now_ms=NOW_MS)
    log.append_marker(end_of(2, commit=False), now_ms=NOW_MS)
    log.append(in_transaction(3, 0), now_ms=NOW_MS)
    log.append(batch(b"hello", key=b"greeting"), now_ms=NOW_MS)
    offsets = directory.log_of(CONSUMER_OFFSETS, 0)
    assert offsets is not None
    record = OffsetCommitted("shoppers", "orders", 0, 7, -1, "", NOW_MS, -1)
    offsets.append(
        build([encode_group(record)], timestamp_ms=NOW_MS), now_ms=NOW_MS, origin=Origin.COORDINATOR
    )
    return directory
