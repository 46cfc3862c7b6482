"""Decisions for a metadata log: a broker, topics, and how they are made true."""

from __future__ import annotations

from uuid import UUID

from ottla.metadata.catalog import Catalog
from ottla.metadata.records import EndPoint, MetadataRecord, RegisterBrokerRecord
from ottla.storage.kraft.metadata_log import MetadataLog
from tests.storage.logs import NOW_MS

BROKER = RegisterBrokerRecord(1, UUID(int=1), 0, (EndPoint("X", "here", 1),), fenced=False)


def decide(log: MetadataLog, catalog: Catalog, records: tuple[MetadataRecord, ...]) -> None:
    offset = log.append(records, now_ms=NOW_MS)
    for delta, record in enumerate(records):
        catalog.replay(record, offset + delta)


def orders(catalog: Catalog, number: int) -> tuple[MetadataRecord, ...]:
    return catalog.create_topic(
        f"orders{number}",
        UUID(int=number),
        partitions=5,
        replication_factor=1,
        configs={"retention.ms": "5"},
    )
