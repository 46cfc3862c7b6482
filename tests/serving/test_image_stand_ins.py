"""Scripts of the image that stand in for programs of older images of Kafka."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.serving.container import DATA_DIRECTORIES

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


def checked(*words: str, **variables: str) -> tuple[int, str]:
    """What the image's dub says: its exit status and its standard error."""
    done = subprocess.run(
        ["bash", SCRIPTS / "dub", *words],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], **variables},
    )
    return done.returncode, done.stderr


def test_a_check_of_a_start_script_names_the_missing_thing(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    assert checked("path", str(tmp_path), "writable") == (0, "")
    assert checked("path", missing, "existence") == (1, f"dub: {missing} does not exist\n")
    assert checked("path", missing, "large")[0] == 2
    assert checked("ensure", "WANTED", WANTED="1") == (0, "")
    assert checked("ensure-atleast-one", "OTHER", "WANTED", WANTED="1") == (0, "")
    assert checked("ensure", "WANTED")[1] == "dub: WANTED must be given as environment variable\n"
    status, said = checked("template", "a", "b")
    assert (status, said.count("\n")) == (1, 1)
    assert "template is not in this image" in said


def test_the_scripts_look_for_volumes_where_the_start_does() -> None:
    """Otherwise kafka-storage would format another directory than the broker's."""
    text = (SCRIPTS / "configure").read_text().replace("\\\n", "")
    listed = re.search(r"^for places in (.+); do$", text, re.MULTILINE)
    assert listed is not None
    assert [tuple(each.split()) for each in re.findall(r'"([^"]+)"', listed[1])] == [
        *DATA_DIRECTORIES
    ]
