"""The questions of the page on a running broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.browse.local_http import Failure
from ottla.client.admin.groups import commit_offsets
from ottla.client.cluster_client import Client
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import OpenTransaction
from ottla.testing import Ottla

from ..group_members import ShareMember
from .viewers import Viewer, plain, transaction

SETTINGS = {"group.share.assignment.interval.ms": "0"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Ottla]:
    with Ottla(nodes=2, settings=SETTINGS) as started:
        yield started


@pytest.fixture(scope="module")
def viewer(broker: Ottla) -> Iterator[Viewer]:
    with Viewer(broker.bootstrap_servers) as made:
        yield made


def test_the_cluster_is_seen_in_numbers_with_its_nodes(broker: Ottla, viewer: Viewer) -> None:
    broker.create_topic("counted", partitions=4)
    found = viewer.see("cluster")
    assert [each["node_id"] for each in found["nodes"]] == [1, 2]
    assert sum(each["leads"] for each in found["nodes"]) == found["partitions"]
    assert [each["is_controller"] for each in found["nodes"]].count(True) == 1
    assert (found["may_change"], found["has_lab"], found["without_leader"]) == (True, False, 0)


def test_topics_are_paged_searched_and_counted(
    broker: Ottla, client: Client, viewer: Viewer
) -> None:
    for name in ("paged-a", "paged-b", "paged-c"):
        broker.create_topic(name, partitions=2)
    plain(client, "paged-b", "x", "y")
    transaction(client, "paged-b", "paging", "z", commit=None)
    found = viewer.see("topics", search="PAGED", first=1, size=1)
    assert (found["total"], [each["name"] for each in found["rows"]]) == (3, ["paged-b"])
    (row,) = found["rows"]
    assert (row["offsets"], row["unstable"], row["partitions"]) == (3, 1, 2)
    assert not row["without_leader"]


def test_a_partition_is_seen_with_its_leader_and_offsets(
    broker: Ottla, client: Client, viewer: Viewer
) -> None:
    broker.create_topic("placed", partitions=2)
    plain(client, "placed", "x")
    transaction(client, "placed", "placing", "y", "z", commit=None)
    found = viewer.see("partitions", topic="placed")
    first, second = found["rows"]
    assert found["total"] == 2
    assert {first["leader"], second["leader"]} == {1, 2}  # which is first depends on other topics
    assert first["in_sync"] == first["replicas"] == [first["leader"]]
    offsets = ("log_start", "last_stable_offset", "high_watermark")
    assert [first[each] for each in offsets] == [0, 1, 3]
    assert [second[each] for each in offsets] == [0, 0, 0]


def test_open_transactions_come_first_with_their_age_and_the_time_left(
    broker: Ottla, client: Client, viewer: Viewer
) -> None:
    broker.create_topic("timed")
    transaction(client, "timed", "timed-a", "x", commit=True)
    transaction(client, "timed", "timed-b", "x", commit=None)
    (row,) = viewer.see("transactions", search="timed-b")["rows"]
    with Viewer(broker.bootstrap_servers, now_ms=row["started_ms"] + 45_000) as later:
        found = later.see("transactions", search="timed")
    assert [each["transactional_id"] for each in found["rows"]] == ["timed-b", "timed-a"]
    still, done = found["rows"]
    assert (still["state"], still["age_ms"], still["left_ms"]) == ("Ongoing", 45_000, 15_000)
    assert (still["partitions"], still["may_abort"]) == (["timed-0"], True)
    assert (done["state"], done["age_ms"], done["left_ms"]) == ("CompleteCommit", None, None)
    assert not done["partitions"]


def test_a_transaction_is_aborted_only_where_changes_are_allowed(
    broker: Ottla, client: Client, viewer: Viewer
) -> None:
    broker.create_topic("ended")
    transaction(client, "ended", "ending", "x", commit=None)
    body: dict[str, object] = {"transactional_id": "ending"}
    with (
        Viewer(broker.bootstrap_servers, may_change=False) as reader,
        pytest.raises(Failure, match="read only") as refused,
    ):
        reader.abort(body)
    assert refused.value.status == 403
    assert viewer.see("partitions", topic="ended")["rows"][0]["last_stable_offset"] == 0
    assert viewer.abort(body)["transactional_id"] == "ending"
    rows = viewer.see("records", topic="ended", partition=0)["rows"]
    assert [(each["kind"], each["fate"]) for each in rows] == [
        ("record", "aborted"),
        ("marker", None),
    ]


def test_an_abort_without_an_open_transaction_is_refused(
    broker: Ottla, client: Client, viewer: Viewer
) -> None:
    broker.create_topic("kept")
    producer = OpenTransaction.begin(client, "keeping", timeout_ms=45_000)
    for name, state in (("keeping", "Empty"), ("unknown", "not known")):
        with pytest.raises(Failure, match=f"no open transaction: it is {state}") as refused:
            viewer.abort({"transactional_id": name})
        assert refused.value.status == 409
    assert viewer.see("transactions", search="unknown")["total"] == 0
    producer.produce("kept", [OutgoingRecord(b"x", partition=0)])
    viewer.abort({"transactional_id": "keeping"})
    (kept,) = viewer.see("transactions", search="keeping")["rows"]
    assert (kept["producer_epoch"] > producer.producer_epoch, kept["timeout_ms"]) == (True, 45_000)


@pytest.mark.parametrize("body", [{}, {"transactional_id": 7}, {"transactional_id": "a", "b": 1}])
def test_an_abort_without_a_transactional_id_is_refused(
    viewer: Viewer, body: dict[str, object]
) -> None:
    with pytest.raises(Failure, match="transactional_id") as refused:
        viewer.abort(body)
    assert refused.value.status == 400


def test_groups_of_all_kinds_are_listed_and_described(
    broker: Ottla, client: Client, viewer: Viewer
) -> None:
    broker.create_topic("jobs")
    plain(client, "jobs", "a", "b")
    commit_offsets(client, "kinds-classic", {("jobs", 0): 1})
    member = ShareMember(client, "kinds-share", "ann")
    member.join("jobs", 1)
    found = viewer.see("groups", search="kinds-")
    assert [(each["group_id"], each["kind"]) for each in found["rows"]] == [
        ("kinds-classic", "Classic"),
        ("kinds-share", "Share"),
    ]
    classic = viewer.see("group", group="kinds-classic")
    assert (classic["state"], classic["members"]) == ("Empty", [])
    assert classic["partitions"][0]["lag"]["committed"] == 1
    share = viewer.see("group", group="kinds-share")
    assert [each["member_id"] for each in share["members"]] == ["ann"]
    assert share["members"][0]["assigned"] == ["jobs-0"]
    assert share["partitions"][0]["members"] == ["ann"]
    member.leave()


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("partitions", {}, 400),
        ("partitions", {"topic": "none"}, 404),
        ("records", {"topic": "__consumer_offsets", "partition": 99}, 404),
        ("records", {"topic": "__consumer_offsets", "partition": "x"}, 400),
        ("records", {"topic": "__consumer_offsets", "start": "-1"}, 400),
        ("records", {"topic": "__consumer_offsets", "size": 0}, 400),
        ("records", {"topic": "__consumer_offsets", "size": 10**6}, 400),
        ("record", {"topic": "__consumer_offsets"}, 400),
        ("topics", {"what": 1}, 400),
        ("topics", {"first": "9" * 40}, 400),
        ("group", {"group": "none"}, 404),
        ("group", {}, 400),
    ],
)
def test_a_wrong_question_is_refused_with_a_sentence(
    client: Client, viewer: Viewer, path: str, given: dict[str, object], status: int
) -> None:
    commit_offsets(client, "makes-the-topic", {})
    with pytest.raises(Failure) as refused:
        viewer.see(path, **given)
    assert refused.value.status == status
    assert str(refused.value)


def test_the_page_says_why_a_partition_is_held(
    broker: Ottla, client: Client, viewer: Viewer
) -> None:
    broker.create_topic("stuck")
    transaction(client, "stuck", "holder", "x", commit=None)
    found = viewer.see("why", topic="stuck", partition=0)
    assert [each for each in found["findings"] if "holder" in each["sentence"]]
    assert found["unasked"] == []


def test_a_question_is_not_asked_twice_within_two_seconds(broker: Ottla, client: Client) -> None:
    broker.create_topic("fresh")
    with Viewer(broker.bootstrap_servers) as viewer:
        viewer.now_s = 100.0
        assert viewer.see("partitions", topic="fresh")["rows"][0]["high_watermark"] == 0
        plain(client, "fresh", "x")
        viewer.now_s = 101.9
        assert viewer.see("partitions", topic="fresh")["rows"][0]["high_watermark"] == 0
        viewer.now_s = 102.1
        assert viewer.see("partitions", topic="fresh")["rows"][0]["high_watermark"] == 1
        assert viewer.made == 1


def test_the_number_of_requests_does_not_grow_with_the_cluster() -> None:
    with Ottla() as broker, Client.to(broker.bootstrap_servers) as client:
        counts = []
        for names in (["first"], [f"more-{number}" for number in range(52)]):
            for name in names:
                broker.create_topic(name, partitions=5)
                commit_offsets(client, name, {(name, 0): 0})
            with Viewer(broker.bootstrap_servers) as viewer:
                for view in ("cluster", "topics", "groups", "transactions"):
                    viewer.see(view)
                counts.append(len(viewer.asked))
        assert counts[0] == counts[1] < 30


def test_answers_that_are_kept_are_few(viewer: Viewer) -> None:
    viewer.now_s = 0.0
    for first in range(200):
        viewer.see("topics", first=first)
    viewer.now_s = None
    assert len(viewer.browser._answers) <= 64


def test_a_stopped_node_is_named_and_the_rest_is_shown() -> None:
    with (
        Ottla(nodes=2) as broker,
        Client.to(broker.bootstrap_servers) as client,
        Viewer(broker.bootstrap_servers) as viewer,
    ):
        broker.create_topic("halved", partitions=2)
        plain(client, "halved", "x")
        assert viewer.see("partitions", topic="halved")["rows"][1]["leader"] == 2
        broker.nodes[2].stop()
        rows = viewer.see("partitions", topic="halved")["rows"]
        assert [each["leader"] for each in rows] == [1, None]
        assert (rows[0]["high_watermark"], rows[0]["error"]) == (1, "")
        assert (rows[1]["high_watermark"], rows[1]["error"]) == (None, "no leader")
        assert viewer.see("cluster")["without_leader"] > 0
        with pytest.raises(Failure, match="LEADER_NOT_AVAILABLE"):
            viewer.see("records", topic="halved", partition=1)
