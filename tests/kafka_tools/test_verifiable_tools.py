"""kafka-verifiable-producer and -consumer print the events that Kafka's system tests wait for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ottla.client.admin.groups import describe_group
from ottla.client.admin.topics import create_topic
from ottla.client.cluster_client import Client
from ottla.client.group_member import GroupMember
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import produce
from ottla.kafka_tools.__main__ import main
from ottla.kafka_tools.measuring import verifiable_consumer
from ottla.testing import running_broker

Event = dict[str, Any]  # Any: values of JSON


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker for all tests."""
    settings = {
        "num.partitions": "2",
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "100",
        "group.consumer.session.timeout.ms": "60000",
    }
    with running_broker(settings=settings) as broker:
        yield broker.bootstrap


def run(capfd: pytest.CaptureFixture[str], tool: str, *words: str) -> list[Event]:
    """The events of a tool that succeeds, without their times."""
    assert main([f"kafka-verifiable-{tool}", *words]) == 0
    return [event_of(line) for line in capfd.readouterr().out.splitlines()]


def event_of(line: str) -> Event:
    found: Event = json.loads(line)
    assert found.pop("timestamp") > 1_700_000_000_000
    return found


def test_numbers_are_produced_and_consumed(
    bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    at = ("--bootstrap-server", bootstrap, "--topic", "numbers")
    keyed = ("--repeating-keys", "1", "--value-prefix", "7", "--message-create-time", "1000")
    first, *sent, stopped, data = run(capfd, "producer", *at, "--max-messages", "3", *keyed)
    assert [first, stopped] == [{"name": "startup_complete"}, {"name": "shutdown_complete"}]
    place = {"topic": "numbers", "partition": sent[0]["partition"]}
    assert sent == [
        {
            **{"name": "producer_send_success", "key": "0", "value": f"7.{number}"},
            **{"offset": number, **place},
        }
        for number in range(3)
    ]
    assert data.pop("avg_throughput") > 0
    assert data == {"name": "tool_data", "sent": 3, "acked": 3, "target_throughput": -1}
    member = ("--group-id", "readers", "--verbose", "--max-messages", "2")
    events = run(capfd, "consumer", *at, *member)
    both = [{"topic": "numbers", "partition": index} for index in range(2)]
    shown = {"name": "record_data", "key": "0", **place}
    assert events == [
        {"name": "startup_complete"},
        {"name": "partitions_assigned", "partitions": both},
        {**shown, "value": "7.0", "offset": 0},
        {**shown, "value": "7.1", "offset": 1},
        {
            "name": "records_consumed",
            "count": 3,
            "partitions": [{**place, "count": 2, "minOffset": 0, "maxOffset": 1}],
        },
        {"name": "offsets_committed", "offsets": [{**place, "offset": 2}], "success": True},
        {"name": "partitions_revoked", "partitions": both},
        {"name": "shutdown_complete"},
        {"name": "shutdown_requested"},
    ]
    (rest,) = (each for each in run(capfd, "consumer", *at, "--group-id", "readers",
               "--max-messages", "1") if each["name"] == "records_consumed")  # fmt: skip
    assert rest["partitions"] == [{**place, "count": 1, "minOffset": 2, "maxOffset": 2}]


def test_a_refused_record_is_an_event(bootstrap: str, capfd: pytest.CaptureFixture[str]) -> None:
    at = ("--bootstrap-server", bootstrap, "--topic", "no/such")
    _, error, *_, data = run(capfd, "producer", *at, "--max-messages", "1")
    assert error == {
        **{"name": "producer_send_error", "topic": "no/such", "key": None, "value": "0"},
        "exception": "class org.apache.kafka.common.errors.InvalidTopicException",
        "message": error["message"],
    }
    assert (data["sent"], data["acked"]) == (1, 0)


@contextmanager
def member(bootstrap: str, group: str) -> Iterator[subprocess.Popen[str]]:
    """A consumer in a process of its own."""
    words = ("kafka-verifiable-consumer", "--bootstrap-server", bootstrap)
    command = [sys.executable, "-m", "ottla.kafka_tools", *words]
    command += ["--topic", "shared", "--group-id", group]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def next_event(process: subprocess.Popen[str], name: str) -> Event:
    assert process.stdout is not None
    for line in process.stdout:
        event = event_of(line)
        if event["name"] == name:
            return event
    raise AssertionError(f"the consumer ended without {name}")


def test_two_members_share_the_partitions_and_sigterm_gives_them_up(bootstrap: str) -> None:
    at = ("--bootstrap-server", bootstrap)
    assert main(["kafka-topics", *at, "--create", "--topic", "shared", "--partitions", "2"]) == 0
    with member(bootstrap, "pair") as first:
        assert len(next_event(first, "partitions_assigned")["partitions"]) == 2
        with member(bootstrap, "pair") as second:
            assert len(next_event(first, "partitions_revoked")["partitions"]) == 1
            assert len(next_event(second, "partitions_assigned")["partitions"]) == 1
            second.send_signal(signal.SIGTERM)
            next_event(second, "shutdown_requested")
            next_event(second, "shutdown_complete")
            assert second.wait() == 0
        while len(next_event(first, "partitions_assigned")["partitions"]) != 1:
            pass  # the assignment without a new partition that followed the revocation


class Idle(verifiable_consumer.Consumer):
    """A consumer without partitions: the end is asked for at its third wait."""

    def __init__(self) -> None:
        self.polls = 0

    @property
    def is_done(self) -> bool:
        return False

    def step(self) -> bool:
        self.polls += 1
        assert self.polls <= 3
        return False


class Asked(threading.Event):
    waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout
        self.waits += 1
        if self.waits == 3:
            self.set()
        return self.is_set()


def test_a_member_without_partitions_waits_between_polls() -> None:
    idle, asked = Idle(), Asked()
    verifiable_consumer.consume_until(idle, asked)
    assert (idle.polls, asked.waits) == (3, 3)


def test_a_partition_that_comes_back_is_read_from_its_committed_offset(
    bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--bootstrap-server", bootstrap, "--topic", "moved", "--group-id", "both"]
    given = verifiable_consumer.options().parse_args([*words, "--verbose"])
    with connected(bootstrap) as client, connected(bootstrap) as other:
        create_topic(client, "moved", partitions=2, replication_factor=1)
        first = verifiable_consumer.Consumer(client, given)
        second = verifiable_consumer.Consumer(other, given)
        read: list[tuple[int, int]] = []

        def step_until(*members: verifiable_consumer.Consumer, count: int) -> None:
            """Step until so many records have been read since the test began."""
            while len(read) < count:
                for each in members:
                    each.step()
                events = map(event_of, capfd.readouterr().out.splitlines())
                read.extend(
                    (each["partition"], each["offset"])
                    for each in events
                    if each["name"] == "record_data"
                )

        produce_to_each(client)
        step_until(first, count=2)
        while len(first.partitions) + len(second.partitions) != 2 or not second.partitions:
            first.step()
            second.step()
        produce_to_each(client)
        step_until(first, second, count=4)
        second.close()
        while len(first.partitions) != 2:
            first.step()
        produce_to_each(client)
        step_until(first, count=6)
        first.close()
    assert sorted(read) == [(index, offset) for index in range(2) for offset in range(3)]


def connected(bootstrap: str) -> Client:
    host, _, port = bootstrap.rpartition(":")
    return Client(host, int(port))


def produce_to_each(client: Client) -> None:
    """One record to each partition."""
    for index in range(2):
        produce(client, "moved", [OutgoingRecord(b"record", partition=index)])


def test_a_consumer_that_commits_at_the_end_alone_joins_again_when_it_is_removed(
    bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--bootstrap-server", bootstrap, "--topic", "kept", "--group-id", "kept"]
    given = verifiable_consumer.options().parse_args([*words, "--enable-autocommit"])
    with connected(bootstrap) as client:
        create_topic(client, "kept", partitions=1, replication_factor=1)
        produce(client, "kept", [OutgoingRecord(b"record")])
        consumer = verifiable_consumer.Consumer(client, given)
        while "records_consumed" not in capfd.readouterr().out:
            consumer.step()
        remove_consumer(client, "kept")
        while consumer.partitions:
            consumer.step()
        while not consumer.partitions:
            consumer.step()
        remove_consumer(client, "kept")
        consumer.close()


def remove_consumer(client: Client, group_id: str) -> None:
    """Let the coordinator forget the only member of a group, as if its session had expired."""
    (member,) = describe_group(client, group_id).members
    twin = GroupMember(client, group_id, "kept")
    twin.member_id, twin.member_epoch = member.member_id, 1
    twin.leave()
