"""The data directory, as clients are told of it and name it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..node import Node

_UNKNOWN_BYTES: Final = -1


def log_dir(node: Node) -> str:
    """The absolute path of the directory that has the node's logs."""
    return os.path.abspath(node.logs.path)


def volume_bytes(path: str) -> tuple[int, int]:
    """All of a volume, and what of it is free; -1 where the system does not tell (KIP-827)."""
    try:
        volume = os.statvfs(path)
    except OSError:
        return _UNKNOWN_BYTES, _UNKNOWN_BYTES
    return volume.f_frsize * volume.f_blocks, volume.f_frsize * volume.f_bavail
