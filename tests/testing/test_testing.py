"""`running_broker`: a broker for a test, and nothing of it afterwards."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ConfigSource,
)

from ottla.serving.health import answers
from ottla.testing import BrokerFailed, RunningBroker, running_broker


def trouble(broker: RunningBroker) -> str | None:
    host, _, port = broker.bootstrap.partition(":")
    return answers(host, int(port))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_running_broker_answers_inside_the_with_block_and_ends_after_it() -> None:
    with running_broker() as broker:
        assert trouble(broker) is None
        pid, scratch = broker.pid, broker.log_path.parent
    assert trouble(broker) is not None
    assert not is_running(pid)
    assert not scratch.exists()


def test_two_brokers_know_nothing_of_each_other() -> None:
    with running_broker() as one, running_broker() as other:
        assert one.bootstrap != other.bootstrap
        assert one.data_dir != other.data_dir
        assert trouble(one) is trouble(other) is None


def test_a_killed_broker_comes_back_on_its_port_and_its_data() -> None:
    with running_broker() as broker:
        bootstrap, pid = broker.bootstrap, broker.pid
        cluster = (broker.data_dir / "meta.properties").read_text()
        broker.kill()
        assert not is_running(pid)
        with pytest.raises(BrokerFailed, match="not running"):
            _ = broker.pid
        broker.start()
        assert (broker.bootstrap, trouble(broker)) == (bootstrap, None)
        broker.restart()
        assert (broker.bootstrap, trouble(broker)) == (bootstrap, None)
        assert (broker.data_dir / "meta.properties").read_text() == cluster


def test_a_given_directory_is_kept(tmp_path: Path) -> None:
    with running_broker(data_dir=tmp_path / "data") as broker:
        assert broker.data_dir == tmp_path / "data"
    assert (tmp_path / "data" / "meta.properties").exists()


def test_the_directory_is_among_the_settings(tmp_path: Path) -> None:
    broker_1 = ConfigResource(ConfigResource.Type.BROKER, "1")
    with running_broker(data_dir=tmp_path / "data") as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        told = admin.describe_configs([broker_1])[broker_1].result(10)
    assert told["log.dirs"].value == str(tmp_path / "data")
    assert told["log.dirs"].source == ConfigSource.STATIC_BROKER_CONFIG.value


def test_illegal_settings_are_reported_with_the_brokers_message() -> None:
    with (
        pytest.raises(BrokerFailed, match=r"num\.partitions=none"),
        running_broker(settings={"num.partitions": "none"}),
    ):
        pass


def run_and_let_it_die(
    error: BaseException | None = None, *, by: signal.Signals = signal.SIGKILL
) -> None:
    with running_broker() as broker:
        process = os.pidfd_open(broker.pid)
        os.kill(broker.pid, by)
        select.select([process], [], [], 20)  # readable when the process has ended
        os.close(process)
        if error is not None:
            raise error


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_broker_that_ends_before_it_is_stopped_is_noticed(by: signal.Signals) -> None:
    """However well: a stop in the middle of a test is not what the test is about."""
    with pytest.raises(BrokerFailed, match="ended by itself"):
        run_and_let_it_die(by=by)


def test_the_error_of_the_body_is_the_one_that_is_seen() -> None:
    with pytest.raises(ZeroDivisionError):
        run_and_let_it_die(ZeroDivisionError())


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_body_that_fails_leaves_no_broker_behind(error: type[BaseException]) -> None:
    started: list[RunningBroker] = []

    def fail() -> None:
        with running_broker() as broker:
            started.append(broker)
            pids.append(broker.pid)
            raise error

    pids: list[int] = []
    with pytest.raises(error):
        fail()
    assert not is_running(pids[0])
    assert not started[0].log_path.parent.exists()
    assert trouble(started[0]) is not None


def test_a_thread_that_started_it_may_end_before_it() -> None:
    with running_broker() as broker:
        broker.kill()
        starter = threading.Thread(target=broker.start)
        starter.start()
        starter.join()
        assert trouble(broker) is None


def test_a_running_broker_ends_with_its_killed_parent() -> None:
    code = (
        "import signal\nfrom ottla.testing import running_broker\n"
        "with running_broker() as broker:\n"
        "    print(broker.pid, broker.log_path.parent, flush=True)\n    signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid, scratch = parent.stdout.readline().decode().split()
        broker = os.pidfd_open(int(pid))
        parent.send_signal(signal.SIGKILL)
    try:
        gone, _, _ = select.select([broker], [], [], 20)  # readable when the process has ended
        assert gone == [broker]
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(broker, signal.SIGKILL)
        os.close(broker)
        shutil.rmtree(scratch)


def test_the_fixture_needs_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import socket\n\n\ndef test_mine(ottla_broker):\n"
        "    host, port = ottla_broker.bootstrap.split(':')\n"
        "    socket.create_connection((host, int(port)), timeout=5).close()\n"
    )
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", "scratch",
        str(tmp_path),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout
