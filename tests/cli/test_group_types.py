"""`ottla groups` knows share groups and Streams groups."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ottla.__main__ import main
from ottla.client import Client
from ottla.testing import Ottla

from ..group_members import ShareMember, StreamsMember, subtopology

Run = Callable[..., str]
SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}


@pytest.fixture
def run(broker: Ottla, capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(*words: str, status: int = 0) -> str:
        capsys.readouterr()
        assert main([*words, "-b", broker.bootstrap_servers]) == status
        return capsys.readouterr().out

    return ran


def test_a_share_group_is_reset_described_and_deleted(
    run: Run, broker: Ottla, client: Client
) -> None:
    broker.create_topic("jobs")
    broker.produce("jobs", ["a", "b", "c"])
    words = ["groups", "reset", "workers", "jobs", "--to", "1", "--share"]
    assert "not changed" in run(*words)
    assert "workers" not in run("groups", "list", "--type", "share")
    run(*words, "--execute")
    assert "workers  Share  Empty" in run("groups", "list")
    assert "workers" not in run("groups", "list", "--type", "consumer", "--type", "classic")
    member = ShareMember(client, "workers", "ann")
    member.join("jobs", 1)
    found = json.loads(run("groups", "describe", "workers", "--json"))
    assert (found["type"], found["state"]) == ("Share", "Stable")
    assert found["partitions"] == [
        {"partition": "jobs-0", "committed": 1, "end": 3, "lag": 2, "member": "ann"}
    ]
    (described,) = found["members"]
    assert (described["member_id"], described["assigned"]) == ("ann", [["jobs", 0]])
    assert "workers: Stable, Share, coordinator node 1" in run("groups", "describe", "workers")
    assert run("groups", "lag", "work*").splitlines()[2].split() == [
        *("workers", "jobs-0", "1", "3", "2", "ann"),
    ]
    run("groups", "reset", "workers", "jobs", "--to", "end", "--execute", status=1)
    member.leave()
    run("groups", "reset", "workers", "jobs", "--to", "end", "--execute")
    (row,) = json.loads(run("groups", "lag", "workers", "--json"))
    assert (row["committed"], row["lag"]) == (3, 0)
    assert run("groups", "delete", "workers") == "workers is deleted\n"
    assert "workers" not in run("groups", "list")


def test_a_streams_group_is_described_with_tasks_and_topology(
    run: Run, broker: Ottla, client: Client
) -> None:
    broker.create_topic("words", partitions=2)
    broker.produce("words", [("a", "a")])
    repartition, changelog = "counts-by-word-repartition", "counts-store-changelog"
    parts = [
        subtopology("0", ["words"], sinks=[repartition]),
        subtopology("1", [], repartition=[repartition], changelogs=[changelog]),
    ]
    member = StreamsMember(client, "counts", "ann", parts)
    member.join(4)
    member.commit("words", 1, 0)
    found = json.loads(run("groups", "describe", "counts", "--json"))
    assert (found["type"], found["state"]) == ("Streams", "Stable")
    assert [each["partition"] for each in found["partitions"]] == [
        *(f"{repartition}-0", f"{repartition}-1", "words-0", "words-1"),
    ]
    assert {each["member"] for each in found["partitions"]} == {"ann"}
    (described,) = found["members"]
    assert described["tasks"] == {"active": {"0": [0, 1], "1": [0, 1]}, "standby": {}, "warmup": {}}
    printed = " ".join(run("groups", "describe", "counts").split())
    assert "process-of-ann 0_0 0_1 1_0 1_1 - -" in printed
    assert f"0 words {repartition} - 1 {repartition} - {changelog}" in printed
    assert "counts" in run("groups", "list", "--type", "streams")
    member.leave()
    run("groups", "reset", "counts", "words", "--to", "end", "--execute")
    assert run("groups", "delete", "counts") == "counts is deleted\n"


def test_a_type_that_is_none_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "list", "--type", "queue"]) == 2
    assert "classic, consumer, share, streams were expected" in capsys.readouterr().err
