"""Pages of records: from both ends, with fates and markers, and bounded whatever the log has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from ottla.browse.local_http import Failure
from ottla.browse.log_reads import Batch, Budget, Limits, LogReader
from ottla.browse.records import newer_page, older_page, record_row
from ottla.client.cluster_client import Client
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import produce
from ottla.protocol.batch import Compression
from ottla.protocol.records import Record
from ottla.testing import Ottla

from .viewers import Viewer, content, plain, transaction


@pytest.fixture(scope="module")
def viewer(broker: Ottla) -> Iterator[Viewer]:
    with Viewer(broker.bootstrap_servers) as made:
        yield made


@pytest.fixture
def topic(broker: Ottla, request: pytest.FixtureRequest) -> str:
    name: str = request.node.name.partition("[")[0].replace("test_", "")
    broker.create_topic(name)
    return name


def seen(page: Any) -> list[tuple[int, str | None]]:
    """Offset and fate of each row; a marker has its decision."""
    return [
        (each["offset"], each["fate"] or {True: "commit", False: "abort"}.get(each["commits"]))
        for each in page["rows"]
    ]


def test_each_record_has_its_fate_and_markers_stand_between_them(
    client: Client, viewer: Viewer, topic: str
) -> None:
    plain(client, topic, "p")
    transaction(client, topic, f"{topic}-a", "a", commit=False)
    still = transaction(client, topic, f"{topic}-b", "b", commit=None)
    transaction(client, topic, f"{topic}-c", "c", commit=True)
    transaction(client, topic, f"{topic}-d", "d", commit=False)
    found = [
        (0, "plain"), (1, "aborted"), (2, "abort"), (3, "open"),
        (4, "committed"), (5, "commit"), (6, "aborted"), (7, "abort"),
    ]  # fmt: skip
    page = viewer.see("records", topic=topic)
    assert seen(page) == found
    assert (page["log_start"], page["last_stable_offset"], page["high_watermark"]) == (0, 3, 8)
    still.end(commit=True)
    found[3] = (3, "committed")
    assert seen(viewer.see("records", topic=topic)) == [*found, (8, "commit")]


def test_a_log_is_paged_from_both_ends_and_nothing_is_left_out(
    client: Client, viewer: Viewer, topic: str
) -> None:
    for number in range(7):
        transaction(client, topic, topic, str(number), commit=number % 2 == 0)
    page = viewer.see("records", topic=topic, size=4)
    back: list[dict[str, object]] = []
    while True:
        back = page["rows"] + back
        if page["older"] is None:
            break
        page = viewer.see("records", topic=topic, size=4, before=page["older"])
    forth: list[dict[str, object]] = []
    start = 0
    while (page := viewer.see("records", topic=topic, size=3, start=start))["rows"]:
        forth += page["rows"]
        start = page["newer"]
    assert [each["offset"] for each in back] == list(range(14))
    assert forth == back
    assert start == page["high_watermark"]


def test_a_page_in_the_middle_of_a_batch_begins_there(
    client: Client, viewer: Viewer, topic: str
) -> None:
    produce(client, topic, [OutgoingRecord(str(n).encode()) for n in range(10)])
    page = viewer.see("records", topic=topic, start=4, size=3)
    assert [content(each["value"]) for each in page["rows"]] == [b"4", b"5", b"6"]
    assert (page["older"], page["newer"]) == (4, 7)
    page = viewer.see("records", topic=topic, before=4, size=2)
    assert [content(each["value"]) for each in page["rows"]] == [b"2", b"3"]


def test_an_offset_outside_of_the_log_begins_at_its_nearest_end(
    client: Client, viewer: Viewer, topic: str
) -> None:
    plain(client, topic, "a", "b")
    assert viewer.see("records", topic=topic, start=99)["rows"] == []
    assert len(viewer.see("records", topic=topic, before=99)["rows"]) == 2


def test_a_large_record_is_cut_and_then_loaded_as_a_whole(
    client: Client, viewer: Viewer, topic: str
) -> None:
    hostile = b"<script>alert(1)</script>\x1b[2J\xff\xfe"
    value = hostile + b"x" * 900_000
    produce(client, topic, [OutgoingRecord(value, b"\x00\xff", (("<b>", None), ("h", b"\x80")))])
    (row,) = viewer.see("records", topic=topic)["rows"]
    assert row["value"]["size_bytes"] == len(value)
    cut = content(row["value"])
    assert cut is not None
    assert len(cut) <= 2000
    assert value.startswith(cut)
    assert content(row["key"]) == b"\x00\xff"
    assert [(each["name"], content(each["value"])) for each in row["headers"]] == [
        ("<b>", None),
        ("h", b"\x80"),
    ]
    assert content(viewer.see("record", topic=topic, offset=0)["value"]) == value


def test_a_page_of_large_records_reads_a_bounded_part_of_the_log(
    client: Client, viewer: Viewer, topic: str
) -> None:
    for _ in range(12):
        produce(client, topic, [OutgoingRecord(b"x" * 900_000)])
    page = viewer.see("records", topic=topic, size=50)
    offsets = [each["offset"] for each in page["rows"]]
    assert offsets == list(range(offsets[0], 12))
    assert 0 < offsets[0] < 12
    assert page["older"] == offsets[0]
    again = viewer.see("records", topic=topic, size=50, before=page["older"])
    assert [each["offset"] for each in again["rows"]][-1] == offsets[0] - 1


def test_a_batch_that_grows_too_large_is_not_opened(client: Client, topic: str) -> None:
    produce(client, topic, [OutgoingRecord(b"x" * 500_000)], compression=Compression.GZIP)
    plain(client, topic, "after")
    reader = LogReader(client, (topic, 0), 1, Limits(opened_bytes=10_000))
    first, second = older_page(reader, None, 10).rows
    assert (first["kind"], second["kind"]) == ("broken", "record")
    assert "too large" in str(first["error"])


def test_a_batch_of_too_many_records_is_not_opened(client: Client, topic: str) -> None:
    produce(client, topic, [OutgoingRecord(b"")] * 100, compression=Compression.GZIP)
    (row,) = older_page(LogReader(client, (topic, 0), 1, Limits(opened_records=99)), None, 10).rows
    assert (row["kind"], row["offset"]) == ("broken", 0)
    assert len(older_page(LogReader(client, (topic, 0), 1), None, 10).rows) == 10


def test_a_page_opens_a_bounded_part_of_small_batches_that_grow(
    client: Client, viewer: Viewer, topic: str
) -> None:
    for _ in range(12):
        produce(client, topic, [OutgoingRecord(b"x" * 900_000)], compression=Compression.GZIP)
    newest = [each["offset"] for each in viewer.see("records", topic=topic)["rows"]]
    assert newest == list(range(newest[0], 12))
    assert newest[0] > 0
    page = viewer.see("records", topic=topic, start=0)
    assert [each["offset"] for each in page["rows"]] == list(range(page["newer"]))
    assert 0 < page["newer"] < 12


class CountedBatch(Batch):
    """Keeps the offsets of the records that are taken out of it."""

    taken: ClassVar[list[int]] = []

    def records(self, budget: Budget | None = None) -> Iterator[Record]:
        for each in super().records(budget):
            self.taken.append(each.offset)
            yield each


class CountedReader(LogReader):
    """Reads counted batches."""

    def read(self, offset: int, budget: Budget) -> list[Batch]:
        return [CountedBatch(*each) for each in super().read(offset, budget)]


def test_a_page_ends_in_the_middle_of_a_batch_of_very_many_records(
    client: Client, topic: str
) -> None:
    produce(client, topic, [OutgoingRecord(b"")] * 5000, compression=Compression.GZIP)
    rows = newer_page(CountedReader(client, (topic, 0), 1), 0, 10).rows
    assert [each["offset"] for each in rows] == list(range(10))
    assert record_row(CountedReader(client, (topic, 0), 1), 3)["offset"] == 3
    assert CountedBatch.taken == [*range(11), *range(4)]


def test_a_fate_whose_marker_is_too_far_is_not_guessed(client: Client, topic: str) -> None:
    open_one = transaction(client, topic, f"{topic}-open", "open", commit=None)
    ends = transaction(client, topic, f"{topic}-ends", "ends", commit=None)
    for number in range(30):
        plain(client, topic, f"{number:0500}")
    ends.end(commit=True)
    near = LogReader(client, (topic, 0), 1, Limits(fetch_bytes=1000, scan_bytes=1000))
    assert [each["fate"] for each in newer_page(near, 0, 2).rows] == ["open", None]
    far = LogReader(client, (topic, 0), 1)
    assert [each["fate"] for each in newer_page(far, 0, 2).rows] == ["open", "committed"]
    open_one.end(commit=True)


def test_a_record_that_is_not_there_is_refused(viewer: Viewer, topic: str) -> None:
    with pytest.raises(Failure, match="OFFSET_OUT_OF_RANGE"):
        viewer.see("record", topic=topic, offset=7)
