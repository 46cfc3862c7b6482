"""The lag of groups in records: what readers of both isolation levels would get, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.browse.lag import lags_of
from ottla.browse.offsets import Offsets
from ottla.client.admin.groups import commit_offsets
from ottla.client.admin.topics import delete_records
from ottla.client.cluster_client import Client
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import produce
from ottla.testing import Ottla

from .viewers import Viewer, plain, transaction


@pytest.fixture
def topic(broker: Ottla, request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.replace("test_", "")
    broker.create_topic(name)
    return name


def lag_of(broker: Ottla, client: Client, topic: str, offset: int) -> dict[str, Any]:
    """The lag of a group that has committed an offset, without what is nothing."""
    commit_offsets(client, topic, {(topic, 0): offset})
    with Viewer(broker.bootstrap_servers) as viewer:
        (row,) = viewer.see("group", group=topic)["partitions"]
    return {name: value for name, value in row["lag"].items() if value}


def test_markers_and_aborted_records_are_not_counted(
    broker: Ottla, client: Client, topic: str
) -> None:
    plain(client, topic, "0")
    transaction(client, topic, f"{topic}-a", "1", "2", commit=True)
    transaction(client, topic, f"{topic}-b", "4", "5", "6", commit=False)
    assert lag_of(broker, client, topic, 0) == {
        "offsets": 8, "committed": 3, "uncommitted": 6, "aborted": 3, "markers": 2,
    }  # fmt: skip
    assert lag_of(broker, client, topic, 2) == {
        "offsets": 6, "committed": 1, "uncommitted": 4, "aborted": 3, "markers": 2,
    }  # fmt: skip


def test_a_group_behind_markers_alone_has_no_lag(broker: Ottla, client: Client, topic: str) -> None:
    transaction(client, topic, topic, "0", commit=True)
    assert lag_of(broker, client, topic, 1) == {"offsets": 1, "markers": 1}
    assert lag_of(broker, client, topic, 2) == {}


def test_records_behind_the_last_stable_offset_are_not_for_read_committed(
    broker: Ottla, client: Client, topic: str
) -> None:
    plain(client, topic, "0")
    still = transaction(client, topic, f"{topic}-open", "1", commit=None)
    transaction(client, topic, f"{topic}-done", "2", commit=True)
    plain(client, topic, "4")
    assert lag_of(broker, client, topic, 0) == {
        "offsets": 5, "committed": 1, "uncommitted": 4, "open": 1, "markers": 1,
    }  # fmt: skip
    still.end(commit=True)
    assert lag_of(broker, client, topic, 0) == {
        "offsets": 6, "committed": 4, "uncommitted": 4, "markers": 2,
    }  # fmt: skip


def test_a_committed_offset_inside_a_batch_counts_the_rest_of_it(
    broker: Ottla, client: Client, topic: str
) -> None:
    produce(client, topic, [OutgoingRecord(b"x") for _ in range(10)])
    assert lag_of(broker, client, topic, 7) == {"offsets": 3, "committed": 3, "uncommitted": 3}


def test_deleted_records_are_not_counted_and_their_loss_is_said(
    broker: Ottla, client: Client, topic: str
) -> None:
    plain(client, topic, "0", "1", "2")
    delete_records(client, topic, 0, 2)
    assert lag_of(broker, client, topic, 0) == {
        "offsets": 3, "committed": 1, "uncommitted": 1, "lost": 2,
    }  # fmt: skip


def test_beyond_the_budget_the_numbers_are_lower_bounds(client: Client, topic: str) -> None:
    for _ in range(5):
        produce(client, topic, [OutgoingRecord(b"x" * 700_000)])
    place = (topic, 0)
    known = {place: Offsets(0, 5, 5)}
    found = lags_of(client, {place: 0}, known, {place: 1}, budget_bytes=1_000_000)[place]
    assert found.offsets == 5
    assert 0 < found.committed == found.uncommitted < 5
    assert found.committed + found.uncounted == 5


def test_a_committed_offset_behind_the_end_has_no_lag(
    broker: Ottla, client: Client, topic: str
) -> None:
    plain(client, topic, "0")
    assert lag_of(broker, client, topic, 9) == {}
