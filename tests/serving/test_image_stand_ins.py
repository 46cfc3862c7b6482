"""Scripts of the image that stand in for programs of older images of Kafka."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docker" / "zookeeper-server-start"


@pytest.mark.parametrize("text", ["clientPort=0\n", "dataDir=/d\n clientPort = 0"])
def test_the_port_of_zookeeper_accepts_connections(text: str, tmp_path: Path) -> None:
    """The KafkaContainer of Node's testcontainers waits for it."""
    file = tmp_path / "zookeeper.properties"
    file.write_text(text)  # port 0: a free one, which the script prints
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with subprocess.Popen(
        ["bash", SCRIPT, file], stdout=subprocess.PIPE, text=True, env={**os.environ, "PATH": path}
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
