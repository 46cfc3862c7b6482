"""Arcs join a read with the copies and the commits of the consumer that read, and no other's."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.picture.copies import MOST_OF_A_COMMIT, Arc, arcs_of
from ottla.picture.rows import Rows
from ottla.protocol.errors import Code
from ottla.trace.events import ConnectionClosed, Request

from .traces import Trace, commit_offset, end_transaction, fetch, produce


def found(trace: Trace) -> list[tuple[int, int, str]]:
    """The arcs by numbers of events."""
    rows = Rows({}).add_all(trace.events)
    return [
        (rows[first].event.seq, rows[last].event.seq, kind)
        for first, last, kind, _ in arcs(trace, rows)
    ]


def arcs(trace: Trace, rows: Any = None) -> list[Arc]:
    return arcs_of(rows or Rows({}).add_all(trace.events), {})


def join(trace: Trace, client: str, member: str) -> int:
    return trace.call(client, "JoinGroup", {"group_id": "g", "member_id": ""}, member_id=member)


def commit(trace: Trace, client: str, offset: int, member: str = "", error: int = 0) -> int:
    """An OffsetCommit of orders-0."""
    part = {"partition_index": 0, "committed_offset": offset}
    answer = {"partition_index": 0, "error_code": error}
    topics = [{"name": "orders", "partitions": [part]}]
    return trace.call(
        client, "OffsetCommit", {"group_id": "g", "member_id": member, "topics": topics},
        topics=[{"name": "orders", "partitions": [answer]}],
    )  # fmt: skip


def connect(trace: Trace, first: int, connection: str) -> None:
    """All requests from a number on come by another connection."""
    for event in trace.events[first - 1 :]:
        if isinstance(event, Request):
            event.connection = connection


def test_a_commit_covers_reads_of_its_own_client_alone() -> None:
    trace = Trace()
    join(trace, "reader-1", "a")
    fetch(trace, "reader-1", "orders", 0, 3)
    join(trace, "reader-2", "b")
    read = fetch(trace, "reader-2", "orders", 0, 3)
    assert found(trace) == []
    covering = commit(trace, "reader-2", 4, "b")
    assert found(trace) == [(read, covering, "cover")]


def test_earlier_reads_of_the_same_client_id_are_of_another_process() -> None:
    trace = Trace()
    join(trace, "collector", "a")
    fetch(trace, "collector", "orders", 0, 3)
    again = join(trace, "collector", "b")
    read = fetch(trace, "collector", "orders", 2, 3)
    covering = commit(trace, "collector", 4, "b")
    connect(trace, again, "1.1.1.1:9092-2.2.2.2:5-2")
    assert found(trace) == [(read, covering, "cover")]


def test_a_member_that_joins_again_by_its_connection_is_the_same_consumer() -> None:
    trace = Trace()
    join(trace, "worker", "a")
    read = fetch(trace, "worker", "orders", 0, 3)
    join(trace, "worker", "b")
    covering = commit(trace, "worker", 4, "b")
    assert found(trace) == [(read, covering, "cover")]


def test_a_consumer_without_a_group_is_known_by_its_connections() -> None:
    trace = Trace()
    fetch(trace, "single", "orders", 0, 3)
    trace.add(ConnectionClosed(connection="1.1.1.1:9092-2.2.2.2:single-1"))
    again = fetch(trace, "single", "orders", 2, 3)
    covering = commit(trace, "single", 4)
    connect(trace, again, "1.1.1.1:9092-2.2.2.2:5-2")
    assert found(trace) == [(again, covering, "cover")]


def test_all_reads_of_a_member_older_than_the_trace_may_be_covered() -> None:
    trace = Trace()
    read = fetch(trace, "worker", "orders", 0, 3)
    trace.call("worker", "JoinGroup", {"group_id": "g", "member_id": "a"}, member_id="a")
    covering = commit(trace, "worker", 4, "a")
    assert found(trace) == [(read, covering, "cover")]


@pytest.mark.parametrize(
    ("api", "fields"),
    [("Heartbeat", {"generation_id": 3}), ("ConsumerGroupHeartbeat", {"member_epoch": 3})],
)
def test_a_heartbeat_is_no_beginning_of_a_member(api: str, fields: dict[str, Any]) -> None:
    trace = Trace()
    read = fetch(trace, "worker", "orders", 0, 3)
    trace.call("worker", api, {"group_id": "g", "member_id": "a", **fields})
    covering = commit(trace, "worker", 4, "a")
    assert found(trace) == [(read, covering, "cover")]


def test_a_commit_is_linked_with_the_last_reads_alone_if_it_covers_many() -> None:
    trace = Trace()
    join(trace, "worker", "a")
    reads = [fetch(trace, "worker", "orders", offset, offset) for offset in range(30)]
    covering = commit(trace, "worker", 30, "a")
    last = reads[-MOST_OF_A_COMMIT:]
    assert found(trace) == [(read, covering, "cover") for read in last]


def test_a_refused_commit_covers_nothing_and_its_read_has_an_arc_of_its_own() -> None:
    trace = Trace()
    reads, commits = [], []
    for number, error in enumerate([Code.UNKNOWN_MEMBER_ID, Code.UNKNOWN_MEMBER_ID, Code.NONE]):
        member = f"m{number}"
        join(trace, "renderer", member)
        reads.append(fetch(trace, "renderer", "orders", 0, 0))
        commits.append(commit(trace, "renderer", 1, member, int(error)))
    kinds = ("refused", "refused", "cover")
    assert found(trace) == [*zip(reads, commits, kinds, strict=True)]


@pytest.mark.parametrize("member", ["a", "b"])
def test_the_offsets_of_a_transaction_are_of_the_member_that_they_name(member: str) -> None:
    trace = Trace()
    reads = {}
    for client, each in (("reader-1", "a"), ("reader-2", "b")):
        join(trace, client, each)
        reads[each] = fetch(trace, client, "orders", 0, 3)
    copy = produce(trace, "x", "invoices", 0)
    covering = commit_offset(trace, "x", "g", "orders", 4, member_id=member)
    end_transaction(trace, "x", commit=True)
    read = reads[member]
    assert found(trace) == [(read, covering, "cover"), (read, copy, "copy")]


@pytest.mark.parametrize("client", ["reader-1", "writer"])
def test_offsets_of_a_producer_that_names_no_member_have_arcs_if_one_consumer_may_be_meant(
    client: str,
) -> None:
    trace = Trace()
    join(trace, "reader-1", "a")
    first = fetch(trace, "reader-1", "orders", 0, 3)
    join(trace, client, "b")
    second = fetch(trace, client, "orders", 0, 3)
    covering = commit_offset(trace, "x", "g", "orders", 4)
    # The client id `writer` is that of the producer, so this consumer is its own.
    assert found(trace) == [(second, covering, "cover")]
    assert first != second


def test_offsets_that_any_of_two_consumers_may_have_read_have_no_arcs() -> None:
    trace = Trace()
    for client in ("reader-1", "reader-2"):
        join(trace, client, client)
        fetch(trace, client, "orders", 0, 3)
    commit_offset(trace, "x", "g", "orders", 4)
    assert found(trace) == []


def test_of_records_that_are_read_twice_the_last_read_before_the_commit_counts() -> None:
    trace = Trace()
    fetch(trace, "worker", "orders", 0, 3)
    again = fetch(trace, "worker", "orders", 0, 1)
    rest = fetch(trace, "worker", "orders", 2, 3)
    covering = commit(trace, "worker", 4)
    fetch(trace, "worker", "orders", 0, 3)
    assert found(trace) == [(again, covering, "cover"), (rest, covering, "cover")]


def test_a_read_that_is_answered_after_the_commit_is_not_covered() -> None:
    trace = Trace()
    read = fetch(trace, "worker", "orders", 0, 3)
    late = trace.ask("worker", "Fetch")
    covering = commit(trace, "worker", 4)
    batch = {"topic": "orders", "partition": 0, "base_offset": 0, "last_offset": 3, "records": 4}
    trace.answer(late, batches=[batch])
    assert found(trace) == [(read, covering, "cover")]


def test_a_consumer_that_goes_back_covers_the_records_again() -> None:
    trace = Trace()
    fetch(trace, "worker", "orders", 0, 3)
    commit(trace, "worker", 4)
    again = fetch(trace, "worker", "orders", 0, 1)
    covering = commit(trace, "worker", 2)
    assert found(trace)[-1] == (again, covering, "cover")


def test_a_read_begins_at_the_offset_that_was_asked_for() -> None:
    trace = Trace()
    batch = {"topic": "orders", "partition": 0, "base_offset": 0, "last_offset": 3, "records": 4}
    part = {"partition": 0, "fetch_offset": 2}
    asked = {"topics": [{"topic": "orders", "partitions": [part]}]}
    trace.call("worker", "Fetch", asked, batches=[batch])
    commit_offset(trace, "x", "g", "orders", 2)
    copy = produce(trace, "x", "invoices", 0)
    assert found(trace) == []
    commit_offset(trace, "x", "g", "orders", 4)
    copy = produce(trace, "x", "invoices", 1)
    end_transaction(trace, "x", commit=True)
    about = {arc.kind: arc.about for arc in arcs(trace)}
    assert about == {"cover": "orders-0 below 4", "copy": "orders-0 2..3"}
    assert copy in {last for _, last, _ in found(trace)}
