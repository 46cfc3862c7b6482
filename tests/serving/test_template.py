"""The template: brokers that a warm process forks are as those that a shell starts."""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from ottla.client import Client
from ottla.protocol.api_keys import ApiKey
from ottla.serving.health import answers
from ottla.serving.template import Template, TemplateBroker, TemplateFailed, start_at
from ottla.testing import BrokerFailed, running_broker
from ottla.testing import process as broker_process

WAIT_S = 30.0
MANY = 30
LISTEN = ["--listen", "127.0.0.1:0"]


@pytest.fixture(scope="module")
def template() -> Iterator[Template]:
    with Template() as template:
        yield template
    assert not template.path.parent.exists()


@pytest.fixture
def output(tmp_path: Path) -> Iterator[IO[bytes]]:
    with (tmp_path / "output").open("w+b") as output:
        yield output


def address(broker: TemplateBroker) -> tuple[str, int]:
    ready = broker.await_ready(WAIT_S)
    assert ready is not None
    host, _, port = ready["bootstrap_servers"].partition(":")
    return host, int(port)


def written(output: IO[bytes]) -> str:
    return Path(output.name).read_text()


def stop(broker: TemplateBroker) -> int | None:
    broker.terminate()
    status = broker.wait(WAIT_S)
    broker.close()
    return status


def test_many_brokers_one_after_the_other_leave_nothing(
    template: Template, output: IO[bytes], tmp_path: Path
) -> None:
    ports, clusters, pids, directories = set(), set(), set(), set()
    for number in range(MANY):
        broker = template.start(
            [*LISTEN, "--data-dir", str(tmp_path / str(number))], stdout=output, stderr=output
        )
        assert answers(*address(broker)) is None
        assert broker.ready is not None
        assert broker.ready["pid"] == broker.pid
        ports.add(broker.ready["bootstrap_servers"])
        clusters.add(broker.ready["cluster_id"])
        text = (tmp_path / str(number) / "meta.properties").read_text()
        directories.add(text.partition("directory.id=")[2].split()[0])
        pids.add(broker.pid)
        assert stop(broker) == 0
        with pytest.raises(ProcessLookupError):
            os.kill(broker.pid, 0)
        assert answers(*address(broker)) is not None
    assert len(clusters) == len(directories) == MANY
    assert len(ports) > 1
    assert os.listdir(f"/proc/{template.pid}/task") == [str(template.pid)]
    assert len(os.listdir(f"/proc/{template.pid}/fd")) < 12
    assert written(output).count("ottla is listening on") == MANY


def test_brokers_at_once_differ(template: Template, output: IO[bytes]) -> None:
    brokers = [template.start(LISTEN, stdout=output, stderr=output) for _ in range(5)]
    assert len({address(each) for each in brokers}) == 5
    assert len({os.getpgid(each.pid) for each in brokers}) == 5
    topics = []
    for each in brokers:
        with Client(*address(each)) as client:
            missing = {"topics": [{"topic_id": None, "name": "t"}]}
            client.ask(ApiKey.METADATA, {**missing, "allow_auto_topic_creation": True})
            topics.append(client.metadata(["t"])[0].topic_id)
    assert len(set(topics)) == 5
    assert [stop(each) for each in brokers] == [0] * 5
    assert not any(Path(each.ready["data_dir"]).exists() for each in brokers if each.ready)


def test_brokers_can_be_started_from_several_threads(template: Template, output: IO[bytes]) -> None:
    statuses: list[int | None] = []

    def start_and_stop() -> None:
        broker = template.start(LISTEN, stdout=output, stderr=output)
        assert answers(*address(broker)) is None
        statuses.append(stop(broker))

    threads = [threading.Thread(target=start_and_stop) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert statuses == [0] * 4


def test_the_status_of_a_killed_broker_is_reported(template: Template, output: IO[bytes]) -> None:
    broker = template.start(LISTEN, stdout=output, stderr=output)
    address(broker)
    assert not broker.has_ended()
    with pytest.raises(TimeoutError):
        broker.wait(0.01)
    os.kill(template.pid, signal.SIGSTOP)  # so that it reports the end late
    process = os.pidfd_open(broker.pid)
    os.kill(broker.pid, signal.SIGKILL)
    assert_ends(process)
    threading.Timer(0.05, os.kill, (template.pid, signal.SIGCONT)).start()
    assert broker.has_ended()
    assert broker.wait(WAIT_S) == broker.returncode == -signal.SIGKILL
    broker.close()


def test_a_broker_ends_with_its_connection(template: Template, output: IO[bytes]) -> None:
    broker = template.start(LISTEN, stdout=output, stderr=output)
    address(broker)
    process = os.pidfd_open(broker.pid)
    broker.close()
    assert_ends(process)
    assert answers(*address(broker)) is not None


def assert_ends(process: int) -> None:
    """A process, given by its pidfd, ends."""
    assert select.select([process], [], [], WAIT_S)[0]
    os.close(process)


def test_a_broker_outlives_its_connection_if_asked(template: Template, output: IO[bytes]) -> None:
    broker = template.start(LISTEN, stdout=output, stderr=output, ends_with_connection=False)
    where = address(broker)
    process = os.pidfd_open(broker.pid)
    broker.close()
    assert answers(*where) is None
    signal.pidfd_send_signal(process, signal.SIGTERM)
    assert_ends(process)


@pytest.mark.parametrize(
    "wrong", [["--set", "num.partitions=none"], ["--set", "nonsense"], ["--unknown"]]
)
def test_wrong_arguments_have_the_text_and_status_of_ottla_serve(
    template: Template, output: IO[bytes], wrong: list[str]
) -> None:
    command = [sys.executable, "-P", "-m", "ottla", "serve", *LISTEN, *wrong]
    usual = subprocess.run(command, capture_output=True, text=True, check=False)
    broker = template.start([*LISTEN, *wrong], stdout=output, stderr=output)
    assert broker.await_ready(WAIT_S) is None
    assert broker.wait(WAIT_S) == usual.returncode == 2
    broker.close()
    assert written(output) == usual.stderr


def test_a_broker_has_the_given_environment_and_streams(template: Template, tmp_path: Path) -> None:
    environment = {"KAFKA_NUM_PARTITIONS": "7", "KAFKA_NONSENSE": "1", "TMPDIR": str(tmp_path)}
    with (tmp_path / "out").open("w+b") as out, (tmp_path / "err").open("w+b") as err:
        broker = template.start(
            [*LISTEN, "--environment", "--ready-json"],
            stdout=out, stderr=err, environment=environment,
        )  # fmt: skip
        assert broker.await_ready(WAIT_S) == json.loads(written(out))
        assert "KAFKA_NONSENSE" in written(err)
        assert Path(f"/proc/{broker.pid}/cwd").readlink() == Path.cwd()
        assert Path(json.loads(written(out))["data_dir"]).parent == tmp_path
        assert stop(broker) == 0


def test_a_broker_inherits_no_descriptors_of_others(template: Template, output: IO[bytes]) -> None:
    first = template.start(LISTEN, stdout=output, stderr=output)
    second = template.start(LISTEN, stdout=output, stderr=output)
    assert address(first) != address(second)
    links = [each.readlink() for each in Path(f"/proc/{second.pid}/fd").iterdir()]
    sockets = {str(each) for each in links if str(each).startswith("socket:")}
    outputs = [each for each in links if str(each) == str(Path(output.name))]
    assert len(outputs) == 2  # standard output and error
    # Its connection, its listener, and the pair that wakes its event loop for signals.
    assert len(sockets) <= 4
    assert [stop(first), stop(second)] == [0, 0]


def test_the_socket_is_private_and_goes_with_the_template() -> None:
    with Template() as template:
        assert stat.S_IMODE(template.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(template.path.parent.stat().st_mode) == 0o700
        path = template.path
    assert not template.runs
    assert not path.parent.exists()


def test_a_broker_outlives_a_killed_template_and_still_ends_with_its_connection(
    output: IO[bytes],
) -> None:
    with Template() as template:
        broker = template.start(LISTEN, stdout=output, stderr=output)
        where = address(broker)
        process = os.pidfd_open(broker.pid)
        os.kill(template.pid, signal.SIGKILL)
        while template.runs:
            time.sleep(0.001)
        with pytest.raises(TemplateFailed):
            template.start(LISTEN, stdout=output, stderr=output)
        assert answers(*where) is None
        assert not broker.has_ended()
        broker.terminate()
        assert broker.wait(WAIT_S) is None  # the status is lost with the template
        assert_ends(process)
        broker.close()


def command(path: Path, *more: str) -> list[str]:
    return [sys.executable, "-P", "-m", "ottla", "template", "--socket", str(path), *more]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, None])
def test_a_template_of_the_command_line_ends_and_removes_its_socket(
    how: signal.Signals | None, tmp_path: Path, output: IO[bytes]
) -> None:
    path = tmp_path / "socket"
    with subprocess.Popen(
        command(path, "--until-stdin-ends"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline()
        broker = start_at(path, LISTEN, stdout=output, stderr=output)
        assert answers(*address(broker)) is None
        if how is None:
            process.stdin.close()
        else:
            process.send_signal(how)
        assert process.wait(WAIT_S) == 0
    assert not path.exists()
    assert answers(*address(broker)) is None
    broker.terminate()
    broker.wait(WAIT_S)
    broker.close()


def test_an_idle_template_ends(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    done = subprocess.run(command(path, "--idle-s", "0.05"), timeout=60, check=False)
    assert (done.returncode, path.exists()) == (0, False)


def test_a_socket_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "socket"
    done = subprocess.run(command(path), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"ottla: {path}: No such file or directory\n"


@pytest.mark.parametrize("sent", [b"nonsense\n", b"{}\n", b"[]\n", b""])
def test_a_wrong_request_is_refused_and_the_template_goes_on(
    template: Template, output: IO[bytes], sent: bytes
) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(template.path))
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        assert "error" in json.loads(client.makefile().readline())
    assert stop(template.start(["--listen", "127.0.0.1:0"], stdout=output, stderr=output)) in (
        0, -signal.SIGTERM,
    )  # fmt: skip


@pytest.fixture
def templates() -> Iterator[broker_process.Templates]:
    """The state of a process that has started no broker yet."""
    templates = broker_process.Templates()
    before = broker_process.use(templates)
    yield templates
    broker_process.use(before)
    templates.close()


def parents_of(count: int) -> list[int]:
    """The parent processes of brokers that are started one after the other."""
    parents = []
    for _ in range(count):
        with running_broker() as broker:
            status = Path(f"/proc/{broker.pid}/status").read_text()
            (parent,) = (line.split()[1] for line in status.splitlines() if "PPid" in line)
            parents.append(int(parent))
    return parents


def test_brokers_of_tests_come_from_a_template_from_the_second_on(
    templates: broker_process.Templates,
) -> None:
    first, second, third = parents_of(3)
    assert first == os.getpid()
    assert second == third != first


def test_a_killed_template_is_replaced(templates: broker_process.Templates) -> None:
    _, before = parents_of(2)
    os.kill(before, signal.SIGKILL)
    assert templates.template is not None
    while templates.template.runs:
        time.sleep(0.001)
    assert parents_of(1) not in ([before], [os.getpid()])


def test_other_limits_and_variables_of_python_make_another_template(
    templates: broker_process.Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, before = parents_of(2)
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    assert parents_of(1) not in ([before], [os.getpid()])


@pytest.mark.parametrize("wrong", ["OTTLA_TEMPLATE", "COVERAGE_PROCESS_CONFIG", "failed"])
def test_without_a_template_brokers_start_as_usual(
    wrong: str,
    templates: broker_process.Templates,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "ottla.testing")
    if wrong == "failed":
        templates.give_up(TemplateFailed("it did not start"))
    else:
        monkeypatch.setenv(wrong, "0")
    assert parents_of(3) == [os.getpid()] * 3
    assert ("without a template" in caplog.text) == (wrong == "failed")


def test_a_wrong_setting_has_the_same_text_with_a_template(
    templates: broker_process.Templates,
) -> None:
    texts = []
    for _ in range(2):
        with (
            pytest.raises(BrokerFailed) as failed,
            running_broker(settings={"num.partitions": "none"}),
        ):
            pass
        texts.append(str(failed.value).partition("\n")[2])
    assert texts[0] == texts[1] != ""
