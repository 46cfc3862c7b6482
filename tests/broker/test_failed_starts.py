"""A start that fails leaves the data directory as it was, whatever the reason is."""

from __future__ import annotations

import asyncio
import gc
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ottla.broker import server
from ottla.broker.net.sockets import NodeSockets
from ottla.broker.node import Node
from ottla.broker.settings.config import BrokerConfig
from ottla.console.options import SERVE_OPTIONS
from ottla.lab.control.control import Control
from ottla.storage.inspection.directory_inspection import inspect_directory
from tests.broker.one_node import OneNode

MARK = ".kafka_cleanshutdown"
FREE = {"listeners": "PLAINTEXT://127.0.0.1:0"}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a broker that stopped cleanly, with a topic."""
    directory = tmp_path_factory.mktemp("stopped") / "data"

    async def live() -> None:
        it = OneNode(directory, FREE)
        it.topic("orders")
        it.node.close()

    asyncio.run(live())
    return directory


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def content(directory: Path) -> Mapping[str, bytes | None]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }


TLS = (
    "--set", "listeners=SSL://127.0.0.1:0", "--set", "ssl.keystore.type=PEM",
    "--set", "inter.broker.listener.name=SSL", "--set",
)  # fmt: skip
MISTAKES = {
    "a taken port": ("--listen", "TAKEN"),
    "a taken port for metrics": ("--metrics", "TAKEN"),
    "a taken port for the control": ("--control", "TAKEN"),
    "a file in place of the control's socket": ("--control", "PLACE/thesis.txt"),
    "a socket in a missing directory": ("--control", "PLACE/missing/socket"),
    "a ready file in a missing directory": ("--ready-file", "PLACE/missing/ready"),
    "a missing key store": (*TLS, "ssl.keystore.location=PLACE/missing.pem"),
    "a key store without a key": (*TLS, "ssl.keystore.location=PLACE/thesis.txt"),
    "another node": ("--set", "node.id=7"),
    "a text that is no topic": ("--create-topics", "orders"),
    "a wrong setting": ("--set", "num.partitions=none"),
}


OTHER_OPTIONS = {
    **dict.fromkeys(
        ("--config", "--nodes", "--clock", "--as", "--emulate", "--log-level", "--log-format"),
        "it is read before anything is opened",
    ),
    "--data-dir": "tests/storage/test_faults_serve.py",
    "--answer-health": "without its socket the broker starts all the same",
}
"""Options that take a value and have no mistake above, and why."""


def test_each_option_with_a_value_has_a_mistake() -> None:
    """What can fail is tried before the directory is changed."""
    given = {each.flag for each in SERVE_OPTIONS if each.metavar}
    tried = {word for words in MISTAKES.values() for word in words} & given
    assert given - tried == OTHER_OPTIONS.keys()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_start_with_a_mistake_changes_nothing(
    stopped: Path, tmp_path: Path, taken: str, mistake: str
) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    words = [each.replace("TAKEN", taken) for each in MISTAKES[mistake]]
    words = [each.replace("PLACE", str(tmp_path)) for each in words]
    if "--listen" not in words and not any("listeners" in word for word in words):
        words += ["--listen", "127.0.0.1:0"]
    before, around = content(stopped), content(tmp_path)
    assert MARK in before
    command = [sys.executable, "-m", "ottla", "serve", "--data-dir", str(stopped), *words]
    failed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert failed.returncode in (1, 2), failed.stderr
    assert "Traceback" not in failed.stderr
    assert failed.stderr.count("\n") <= 2, failed.stderr
    assert content(stopped) == before
    assert content(tmp_path) == around


class Unlucky(Control):
    """A control whose last step fails."""

    async def open(self, served: Mapping[Node, NodeSockets]) -> None:
        raise MemoryError("there is no memory for the control")


@pytest.mark.parametrize("step", ["the control", "the ready line", "the ready file"])
def test_a_start_that_fails_late_closes_the_directory(tmp_path: Path, step: str) -> None:
    directory = tmp_path / "data"
    made = Unlucky if step == "the control" else Control

    def fail(_: server.Ready) -> None:
        raise RuntimeError("can't start new thread")

    on_ready = fail if step == "the ready line" else server.print_ready
    settings = BrokerConfig.from_settings(FREE)
    started = server._Server(settings, str(directory), False, None, on_ready=on_ready)
    if step == "the ready file":
        (tmp_path / "ready").mkdir()
    running = started.run(
        nodes=1, ready_file=str(tmp_path / "ready"),
        control=made(tmp_path / "control", None), metrics=("127.0.0.1", 0),
    )  # fmt: skip
    with pytest.raises((RuntimeError, MemoryError, IsADirectoryError)):
        asyncio.run(running)
    gc.collect()  # what was left open is a warning now
    assert not (tmp_path / "control").exists()
    assert inspect_directory(str(directory)).is_finished


# Digits for isdigit(), of which int() makes no number; and a number that is no offset.
LIKE_NUMBERS = {
    "a directory of no partition": "orders-\u00b2/",
    "a partition beyond 64 bits": "orders-99999999999999999999/",
    "a segment": f"orders-0/{chr(0xB2) * 20}.log",
    "a segment that is swapped in": "orders-0/\u00b2.log.swap",
    "a file of a user that is swapped in": "orders-0/thesis.log.swap",
    "a file of a user that is cleaned": "orders-0/thesis.log.cleaned",
    "a segment beyond 64 bits": "orders-0/99999999999999999999.log",
    "a segment with few digits": "orders-0/5.log",
    "a state of producers": "orders-0/\u00b2.snapshot",
    "a snapshot": "__cluster_metadata-0/\u00b2-\u00b2.checkpoint",
}


@pytest.mark.parametrize("name", LIKE_NUMBERS.values(), ids=LIKE_NUMBERS)
async def test_a_name_that_looks_like_a_number_does_no_harm(
    stopped: Path, tmp_path: Path, name: str
) -> None:
    copied = shutil.copytree(stopped, tmp_path / "data")
    if name.endswith("/"):
        (copied / name).mkdir()
    else:
        (copied / name).write_bytes(b"")
    it = OneNode(copied, FREE)
    try:
        it.append("orders", b"a")
        assert it.log("orders").log_end_offset == 1
    finally:
        it.node.close()
    assert (copied / name).exists()
    assert inspect_directory(str(copied)).is_finished


@pytest.mark.parametrize(
    "state",
    [
        "[" * 100_000, "[]", "{", '{"leaderId": 1e999, "leaderEpoch": 1, "data_version": 1}',
        '{"leaderId": %s, "leaderEpoch": 1, "data_version": 1}' % ("9" * 5_000),
    ],
    ids=["deep", "a list", "cut", "infinite", "long"],
)  # fmt: skip
async def test_a_damaged_state_of_the_quorum_does_no_harm(
    stopped: Path, tmp_path: Path, state: str
) -> None:
    copied = shutil.copytree(stopped, tmp_path / "data")
    (copied / "__cluster_metadata-0" / "quorum-state").write_text(state)
    it = OneNode(copied, FREE)
    try:
        it.append("orders", b"a")
        assert it.log("orders").log_end_offset == 1
    finally:
        it.node.close()
