"""Ports of pages, and Unix sockets that take the place of nothing but a dead one."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ottla.broker.net.listening import PrivateSocket, listen_on
from tests.project_files import MODULES, ROOT

ROOMS = ("broker", "client", "lab", "serving", "spark", "storage", "testing", "trials")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mask", [0, 0o002, 0o077])
def test_a_private_socket_is_for_its_user_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    path = tmp_path / "socket"
    with umask(mask):
        private = PrivateSocket(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    private.close()
    assert not path.exists()


def test_the_socket_of_a_running_process_stays(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    first = PrivateSocket(path)
    with pytest.raises(OSError, match="another process listens on it") as failed:
        PrivateSocket(path)
    assert failed.value.filename == path
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
    first.close()


def test_the_socket_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    assert path.is_socket()
    PrivateSocket(str(path)).close()
    assert not path.exists()


def test_a_socket_with_too_many_connections_is_in_use(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(path)
        busy.listen(0)
        waiting.connect(path)
        with pytest.raises(OSError, match="another process listens on it"):
            PrivateSocket(path)


def test_no_file_and_no_link_gives_way_to_a_socket(tmp_path: Path) -> None:
    precious, link, folder = tmp_path / "thesis.txt", tmp_path / "link", tmp_path / "folder"
    precious.write_text("precious")
    link.symlink_to(precious)
    folder.mkdir()
    for path in (precious, link, folder):
        with pytest.raises(OSError, match="it exists, and is not a socket"):
            PrivateSocket(str(path))
    assert precious.read_text() == "precious"
    assert link.is_symlink()
    assert folder.is_dir()


def test_a_close_leaves_the_socket_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    first = PrivateSocket(str(path))
    path.unlink()
    second = PrivateSocket(str(path))
    first.close()
    assert path.is_socket()
    second.close()


def test_a_port_can_be_used_again_right_after_its_connections() -> None:
    first = listen_on("127.0.0.1", 0)
    port = first.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)) as client:
        accepted, _ = first.accept()
        accepted.close()  # this side closes first, so the system remembers the connection
        assert client.recv(1) == b""
    first.close()
    listen_on("127.0.0.1", port).close()


def test_a_port_that_listens_is_taken() -> None:
    with listen_on("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port} for metrics: "):
            listen_on("127.0.0.1", port, "metrics")


# `bind` to one address, and servers that make their socket themselves.
BINDS = re.compile(
    r"[\w.]+\.bind\((?!\))|\b[\w.]*(?:create|start)_(?:unix_)?server\((?![^()]*sock=)"
)
ELSEWHERE = {
    "broker/health_socket.py": {"listening.bind("},  # an abstract socket, which has no file
    "broker/net/listening.py": {"bound.bind(", "listening.bind(", "self.listening.bind("},
    "broker/net/sockets.py": {"loop.create_server("},  # on sockets of listening.py
    "broker/runtime/markers/marker_requests.py": {"end.bind("},  # the near end of a connection
    "trials/diff/mirror.py": {"asyncio.start_server("},
    "testing/ports.py": {"bound.bind(", "socket.create_server("},  # only to find a free port
}


def test_every_socket_of_a_path_and_every_port_is_opened_here() -> None:
    """Elsewhere a mode, an option or a look at what is there would be forgotten."""
    found = {}
    for path in MODULES:
        name = path.relative_to(ROOT).as_posix()
        binds = set(BINDS.findall(path.read_text()))
        if name.partition("/")[0] in ROOMS and binds:
            found[name] = binds
    assert found == ELSEWHERE
