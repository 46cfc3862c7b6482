"""`Ottla`: a broker for a `with` or an `async with`, with snapshots, orders and its log."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.client import Client
from ottla.client.admin.configs import Resource, describe_settings
from ottla.serving.health import answers
from ottla.serving.template import Template
from ottla.testing import NO_BROKER, BrokerFailed, Ottla, closed_port, silent_port
from ottla.testing.ports import HeldPorts

PATIENCE_S = 20.0


def address(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


def trouble(bootstrap: str) -> str | None:
    reason = answers(*address(bootstrap), timeout_s=PATIENCE_S)
    return None if reason is None else reason.removeprefix("[Errno 111] ")


def create_topic(broker: Ottla, name: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, partitions)])[name].result(PATIENCE_S)


def topics(broker: Ottla) -> set[str]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    return set(admin.list_topics(timeout=PATIENCE_S).topics)


def test_the_broker_chooses_its_port_and_keeps_it() -> None:
    with Ottla() as broker:
        bootstrap = broker.bootstrap_servers
        assert broker.bootstrap == broker.nodes[1].bootstrap == bootstrap
        assert "listening on " + bootstrap in broker.log_tail()
        assert trouble(bootstrap) is None
        broker.restart()
        assert (broker.bootstrap_servers, trouble(bootstrap)) == (bootstrap, None)
        broker.kill()
        assert not broker.runs
        broker.start()
        assert (broker.bootstrap_servers, trouble(bootstrap)) == (bootstrap, None)


def test_no_other_process_gets_the_port_of_a_killed_broker() -> None:
    with Ottla() as broker:
        broker.kill()
        assert trouble(broker.bootstrap_servers) == "Connection refused"
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(address(broker.bootstrap_servers))
        broker.start()


def test_a_broker_works_in_an_async_with() -> None:
    async def use() -> tuple[str, Path]:
        async with Ottla() as broker:
            assert trouble(broker.bootstrap_servers) is None
            return broker.bootstrap_servers, broker.log_path.parent

    bootstrap, scratch = asyncio.run(use())
    assert trouble(bootstrap) is not None
    assert not scratch.exists()


async def test_a_cancelled_start_leaves_no_broker() -> None:
    broker = Ottla()

    starting = asyncio.ensure_future(broker.__aenter__())
    await asyncio.sleep(0)  # the start begins
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not broker.runs
    assert not broker.log_path.parent.exists()


def test_a_broker_can_be_closed_and_used_again() -> None:
    broker = Ottla()
    for _ in range(2):
        with broker:
            scratch, bootstrap = broker.log_path.parent, broker.bootstrap_servers
            assert trouble(bootstrap) is None
        assert not scratch.exists()
        assert f"listening on {bootstrap}" in broker.log_since(0)


def test_a_broker_is_started_once() -> None:
    with Ottla() as broker, pytest.raises(BrokerFailed, match="was started before"):
        broker.start()


def test_a_snapshot_can_be_restored_more_than_once() -> None:
    with Ottla() as broker:
        create_topic(broker, "before")
        snapshot = broker.snapshot()
        pid = broker.pid
        for _ in range(2):
            create_topic(broker, "after")
            assert {"before", "after"} <= topics(broker)
            broker.restore(snapshot)
            assert "before" in topics(broker)
            assert "after" not in topics(broker)
        assert broker.pid != pid


def test_a_snapshot_starts_another_broker(tmp_path: Path) -> None:
    with Ottla() as broker:
        create_topic(broker, "orders")
        copy = broker.snapshot(tmp_path / "copy")
    with Ottla(data_dir=copy) as other:
        assert "orders" in topics(other)


def test_a_wrong_snapshot_changes_nothing(tmp_path: Path) -> None:
    with Ottla() as broker:
        pid = broker.pid
        with pytest.raises(BrokerFailed, match="is no snapshot"):
            broker.restore(tmp_path)
        assert broker.pid == pid
        with pytest.raises(BrokerFailed, match="the broker runs on its data"):
            broker.empty()


def test_paths_of_snapshots_may_be_text(tmp_path: Path) -> None:
    with Ottla() as broker:
        broker.produce("orders", "a broom")
        copy = broker.snapshot(str(tmp_path / "copy"))
        broker.produce("orders", "a pan")
        broker.restore(str(copy))
        assert len(broker.read("orders")) == 1
        with pytest.raises(BrokerFailed, match="is no snapshot"):
            broker.restore("nowhere")


@pytest.mark.parametrize(
    "use",
    [
        lambda broker: broker.produce("orders", "a broom"),
        lambda broker: broker.read("orders"),
        lambda broker: broker.create_topic("orders"),
        lambda broker: broker.transactions(),
        lambda broker: broker.offsets("clerk"),
        lambda broker: broker.given("ends_in_marker", topic="orders"),
        lambda broker: broker.faults.add("delay", ms=1),
        lambda broker: broker.trace.start(),
        lambda broker: broker.clock.now_ms(),
        lambda broker: broker.clock.advance(minutes=1),
        lambda broker: broker.nodes[1].stop(),
        lambda broker: broker.move_leader("orders", 0, 1),
    ],
)
def test_a_broker_that_was_not_started_says_so(use: Callable[[Ottla], object]) -> None:
    with pytest.raises(BrokerFailed, match="was not started: call `start`, or use it in a `with`"):
        use(Ottla())


def test_the_control_of_a_killed_broker_says_that_it_does_not_run() -> None:
    with Ottla() as broker:
        broker.kill()
        with pytest.raises(BrokerFailed, match="the broker does not run: call `start`"):
            broker.faults.add("delay", ms=1)


def test_a_node_alone_stops_and_starts() -> None:
    with Ottla() as broker:
        create_topic(broker, "orders")
        for how in ("stop", "cut"):
            getattr(broker.nodes[1], how)()
            assert trouble(broker.bootstrap_servers) == "Connection refused"
            broker.nodes[1].start()
            assert "orders" in topics(broker)
        broker.move_leader("orders", 0, 1)


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ("stop 9", "stop 9: node 9 does not exist; nodes: 1"),
        ("stop x", "stop x: node x does not exist; nodes: 1"),
        ("start 1", "start 1: node 1 runs"),
        ("lead t 0 9", "lead t 0 9: node 9 does not exist; nodes: 1"),
        ("lead none 0 1", "lead none 0 1: topic none does not exist"),
        ("lead t 1 1", "lead t 1 1: partition t-1 does not exist; partitions: 0"),
        ("lead t x 1", "lead t x 1: partition t-x does not exist; partitions: 0"),
        (
            "dance",
            "dance: unknown order 'dance'; orders are stop N, cut N, start N,"
            " lead TOPIC PARTITION N, queues, control, clock, advance MS, given JSON",
        ),
    ],
)
def test_a_wrong_order_raises_one_sentence(one: Ottla, order: str, sentence: str) -> None:
    with pytest.raises(BrokerFailed) as raised:
        one.order(order)
    assert str(raised.value) == sentence


def test_a_node_that_does_not_exist_raises_one_sentence(one: Ottla) -> None:
    with pytest.raises(BrokerFailed, match="node 2 does not exist; nodes: 1"):
        one.nodes[2].stop()
    assert 2 not in one.nodes


@pytest.fixture(scope="module")
def one() -> Iterator[Ottla]:
    """A broker with the topic `t`."""
    with Ottla() as broker:
        create_topic(broker, "t")
        yield broker


def test_a_replica_that_is_not_in_sync_cannot_lead() -> None:
    with Ottla(nodes=2) as broker:
        create_topic(broker, "t")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        leader = admin.list_topics("t", PATIENCE_S).topics["t"].partitions[0].leader
        wrong = next(node_id for node_id in broker.nodes if node_id != leader)
        with pytest.raises(BrokerFailed, match=rf"node {wrong} is not in sync with t-0"):
            broker.move_leader("t", 0, wrong)


def test_no_other_socket_gets_the_port_of_a_stopped_node() -> None:
    with Ottla(nodes=2) as broker:
        broker.nodes[2].stop()
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(address(broker.nodes[2].bootstrap))
        broker.nodes[2].start()
        assert trouble(broker.nodes[2].bootstrap) is None


def test_wait_for_returns_the_first_true_result() -> None:
    results = iter([0, None, "ready"])
    assert Ottla().wait_for(lambda: next(results)) == "ready"


def test_wait_for_ends_in_time() -> None:
    with pytest.raises(TimeoutError, match=r"it was not true within 0.01 s, but \[\]"):
        Ottla().wait_for(lambda: [], timeout_s=0.01)


def test_wait_for_notices_the_end_of_the_broker() -> None:
    with Ottla() as broker:
        os.kill(broker.pid, signal.SIGKILL)
        with pytest.raises(BrokerFailed, match="ended by itself"):
            broker.wait_for(lambda: False, timeout_s=PATIENCE_S)
        broker.kill()


def test_the_log_is_read_from_a_position_on() -> None:
    with Ottla() as broker:
        size = broker.log_size()
        assert broker.log_since(size) == ""
        broker.restart()
        added = broker.log_since(size)
        assert added.count("is listening on") == 1
    assert broker.log_since(size).startswith(added)
    assert broker.log_since(broker.log_size()) == ""


def test_an_error_of_the_broker_shows_its_log_although_it_is_removed() -> None:
    with pytest.raises(BrokerFailed, match=r"did not start(.|\n)*num\.partitions") as raised:
        Ottla(settings={"num.partitions": "none"}).__enter__()
    path = str(raised.value).partition("the end of ")[2].partition(":")[0]
    assert not Path(path).exists()


def test_a_long_path_of_the_temporary_directory_stops_no_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("d" * 100)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    with Ottla() as broker:
        assert trouble(broker.bootstrap_servers) is None
        broker.nodes[1].stop()
        assert trouble(broker.bootstrap_servers) is not None


def test_an_abandoned_broker_leaves_no_directory() -> None:
    code = (
        "from ottla.testing import Ottla\nbroker = Ottla()\nbroker.start()\n"
        "print(broker.log_path.parent)"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).exists()


def test_nothing_answers_at_the_addresses_without_a_broker() -> None:
    for bootstrap in NO_BROKER.split(","):
        assert trouble(bootstrap) == "Connection refused"


def test_a_closed_port_refuses_connections_and_cannot_be_taken() -> None:
    with closed_port() as bootstrap:
        assert trouble(bootstrap) == "Connection refused"
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(address(bootstrap))


def test_a_silent_port_accepts_connections_and_never_answers() -> None:
    with silent_port() as bootstrap:
        assert answers(*address(bootstrap), timeout_s=0.05) == "timed out"


def test_held_ports_follow_each_other() -> None:
    held = HeldPorts()
    first = held.hold_consecutive(3)
    for port in range(first, first + 3):
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
    held.release()
    with socket.socket() as other:
        other.bind(("127.0.0.1", first))


@pytest.mark.slow
def test_fifty_brokers_at_once_leave_no_process_directory_or_port() -> None:
    with ExitStack() as stack:
        brokers = [stack.enter_context(Ottla()) for _ in range(50)]
        pids = [broker.pid for broker in brokers]
        places = [(broker.bootstrap_servers, broker.log_path.parent) for broker in brokers]
        assert len({bootstrap for bootstrap, _ in places}) == 50
        assert all(trouble(bootstrap) is None for bootstrap, _ in places)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    for bootstrap, scratch in places:
        assert not scratch.exists()
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(address(bootstrap))


REBALANCE_DELAY = "group.initial.rebalance.delay.ms"


def rebalance_delay(bootstrap_servers: str) -> str | None:
    with Client.to(bootstrap_servers) as client:
        found = describe_settings(client, Resource.BROKER, "1")
    return next(each.value for each in found if each.name == REBALANCE_DELAY)


@pytest.mark.parametrize("given", [{}, {REBALANCE_DELAY: "7"}])
def test_the_first_member_of_a_group_waits_only_if_a_test_asks_for_it(
    given: dict[str, str],
) -> None:
    with Ottla(settings=given) as broker:
        found = rebalance_delay(broker.bootstrap_servers)
        assert found == given.get(REBALANCE_DELAY, "0")


def test_a_broker_of_a_template_has_the_defaults_of_tests(tmp_path: Path) -> None:
    with Template() as template, (tmp_path / "log").open("wb") as log:
        broker = template.start(["--listen", "127.0.0.1:0"], stdout=log, stderr=log)
        ready = broker.await_ready(PATIENCE_S)
        assert ready is not None
        assert rebalance_delay(str(ready["bootstrap_servers"])) == "0"
        broker.close()
