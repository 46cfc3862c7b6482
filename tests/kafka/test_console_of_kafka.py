"""The page of `ottla console` on an Apache Kafka: all of it comes by Kafka's protocol alone."""

from __future__ import annotations

import pytest

from ottla.client import Client
from ottla.client.admin.groups import commit_offsets
from ottla.client.admin.topics import create_topic

from ..browse.viewers import plain, transaction
from ..cli.consoles import running_console
from .place import Place

OFFSETS = ("leader", "log_start", "last_stable_offset", "high_watermark", "error")

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_console_shows_a_kafka_as_it_shows_ottla(place: Place) -> None:
    seen = []
    with place.kafka() as bootstrap:
        seen.append(story(bootstrap))
    with place.ottla() as ottla:
        seen.append(views(ottla.bootstrap))
    assert seen[0] == seen[1]


def story(bootstrap: str) -> dict[str, object]:
    """What the page shows of transactions with all fates, and of a group."""
    with Client.to(bootstrap) as client:
        create_topic(client, "orders", partitions=2, replication_factor=1)
        plain(client, "orders", "plain")
        transaction(client, "orders", "shop-a", "a", commit=True)
        transaction(client, "orders", "shop-b", "b", commit=False)
        transaction(client, "orders", "shop-c", "c", commit=None)
        commit_offsets(client, "billing", {("orders", 0): 1})
    return views(bootstrap)


def views(bootstrap: str) -> dict[str, object]:
    """The answers to the questions of the page, without what is a matter of time."""
    with running_console("-b", bootstrap, "--allow-changes") as console:
        records = console.get("/browse/records?topic=orders&partition=0")
        (partition, _) = console.get("/browse/partitions?topic=orders")["rows"]
        transactions = console.get("/browse/transactions")
        group = console.get("/browse/group?group=billing")
        topics = console.get("/browse/topics?search=orders")["rows"]
        return {
            "topics": topics,
            "records": records,
            "partition": {name: partition[name] for name in OFFSETS},
            "states": {each["transactional_id"]: each["state"] for each in transactions["rows"]},
            "group": (group["kind"], group["state"], group["partitions"][0]["lag"]),
        }
