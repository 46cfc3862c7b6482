"""Scripts of the image that stand in for programs of older images of Kafka."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "docker"


@pytest.mark.parametrize("text", ["clientPort=0\n", "dataDir=/d\n clientPort = 0"])
def test_the_port_of_zookeeper_accepts_connections(text: str, tmp_path: Path) -> None:
    """The KafkaContainer of Node's testcontainers waits for it."""
    file = tmp_path / "zookeeper.properties"
    file.write_text(text)  # port 0: a free one, which the script prints
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with subprocess.Popen(
        ["bash", SCRIPTS / "zookeeper-server-start", file],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": path},
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().rpartition(" ")[2])
            for _ in range(2):
                with socket.create_connection(("127.0.0.1", port), timeout=10) as connected:
                    assert connected.recv(1) == b""
        finally:
            process.terminate()
    assert process.returncode == -signal.SIGTERM


def looked_for(*words: str) -> tuple[int, str]:
    """What the image's nc says: its exit status and its standard error."""
    done = subprocess.run(
        ["bash", SCRIPTS / "nc", *words], stderr=subprocess.PIPE, text=True, check=False
    )
    return done.returncode, done.stderr


def test_nc_says_that_a_port_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        said = f"Connection to 127.0.0.1 {port} port [tcp/*] succeeded!\n"
        assert looked_for("-zv", "127.0.0.1", port) == (0, said)
        assert looked_for("-z", "-w", "2", "127.0.0.1", port) == (0, "")
    assert looked_for("-vz", "127.0.0.1", port) == (
        1,
        f"nc: connect to 127.0.0.1 port {port} (tcp) failed\n",
    )
    assert looked_for("-z", "127.0.0.1", port) == (1, "")
