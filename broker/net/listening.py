"""Sockets that listen for people and tests: ports of pages, and Unix sockets for one user.

A start opens them before it changes the data directory, so that a taken port costs nothing. Peers
may connect from then on; they are answered once something serves the socket.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import suppress
from typing import Final

_BACKLOG: Final = 128
_PROBE_S: Final = 1.0


def listen_on(host: str, port: int, purpose: str = "") -> socket.socket:
    """A socket that listens on a port, also right after an earlier process has used it.

    Args:
        purpose: for the text of the error.

    Raises:
        OSError: the port is taken; the text has the address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as trouble:
        listening.close()
        why = f"cannot listen on {host}:{port}{purpose and f' for {purpose}'}: {trouble.strerror}"
        raise OSError(why) from None
    return listening


def bind_to(host: str, port: int) -> socket.socket:
    """A socket that is bound to an address and does not listen yet.

    Args:
        host: empty for every address.

    Raises:
        OSError: it cannot be bound; the text has the address.
    """
    host = host or "0.0.0.0"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as trouble:
        bound.close()
        raise OSError(f"cannot listen on {host}:{port}: {trouble.strerror}") from None
    return bound


class PrivateSocket:
    """A Unix socket that listens, and that only this user can connect to, whatever the umask.

    It takes the place of a socket that a killed process has left, and of nothing else.

    Args:
        path: of the socket; removed by `close`.

    Attributes:
        listening: the socket.

    Raises:
        OSError: a process listens there, there is a file of another kind, or there is no directory;
            `filename` is the path.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        _remove_left_over(path)
        self.listening = socket.socket(socket.AF_UNIX)
        try:
            with suppress(OSError):  # not on macOS; no peer can connect before `listen` anyway
                os.fchmod(self.listening.fileno(), 0o600)
            try:
                self.listening.bind(path)
            except OSError as failed:
                raise OSError(failed.errno, failed.strerror or str(failed), path) from None
            os.chmod(path, 0o600)
            self._made = _identity(path)
            self.listening.listen(_BACKLOG)
        except OSError:
            self.listening.close()
            raise

    def close(self) -> None:
        """Listen no more, and remove the path unless another process has replaced it."""
        self.listening.close()
        if _identity(self._path) == self._made:
            with suppress(FileNotFoundError):
                os.unlink(self._path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _remove_left_over(path: str) -> None:
    """Remove a socket that no process listens on. Raises OSError if something else has the path."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise OSError(errno.EEXIST, "it exists, and is not a socket", path)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            with suppress(FileNotFoundError):
                os.unlink(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            pass  # it has too many connections, or belongs to another user
    raise OSError(errno.EADDRINUSE, "another process listens on it", path)
