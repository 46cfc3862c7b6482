"""The signals that end a broker cleanly, the one that prints its stacks, and its open files."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_time

ENDING = [
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU),
    *([signal.SIGPWR] if sys.platform == "linux" else []),
]
WAIT_S = 30
JOINS = {"process.roles": "broker", "node.id": "2", "controller.quorum.voters": "1@127.0.0.1:9"}


def serve(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "ottla", "serve", "--listen", "127.0.0.1:0", *words]


@contextmanager
def running(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """A broker that listens."""
    command = serve("--data-dir", str(directory))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as broker:
        assert broker.stdout is not None
        assert "listening" in broker.stdout.readline()
        yield broker
        broker.kill()


@pytest.mark.parametrize("number", ENDING, ids=lambda number: signal.Signals(number).name)
def test_a_signal_that_ends_the_broker_leaves_the_mark_of_a_clean_stop(
    number: signal.Signals, tmp_path: Path
) -> None:
    """SIGUSR1 and SIGUSR2 ended it as a crash does, and the next start read all logs."""
    with running(tmp_path) as broker:
        broker.send_signal(number)
        assert broker.wait(WAIT_S) == 0
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_sigquit_prints_the_stacks_and_the_broker_goes_on(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        broker.send_signal(signal.SIGQUIT)
        assert broker.stderr is not None
        lines = [broker.stderr.readline() for _ in range(2)]
        broker.terminate()
        assert broker.wait(WAIT_S) == 0
    assert "most recent call first" in lines[0]
    assert lines[1].startswith("  File ")


@pytest.mark.parametrize("joins", [False, True], ids=["alone", "joins a cluster"])
@pytest.mark.parametrize("limit", [8, 12])
def test_too_few_descriptors_for_a_start_are_one_line(
    limit: int, joins: bool, tmp_path: Path
) -> None:
    """The event loop failed, and told so by warnings about coroutines."""
    data = ["--data-dir", str(tmp_path / "data")]
    command = serve(
        *([f"--set={name}={value}" for name, value in JOINS.items()] if joins else data)
    )
    limited = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *command]
    ended = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
    needed = "a broker needs at least 20"
    assert ended.stderr == f"ottla: the process may open {limit} files (ulimit -n), {needed}\n"
    assert (ended.returncode, ended.stdout) == (1, "")
    assert not (tmp_path / "data").exists()
