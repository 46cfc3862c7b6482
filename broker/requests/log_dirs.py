"""The path and the volume sizes of the data directory, for the requests about log directories."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..node import Node

_UNKNOWN_BYTES: Final = -1


def log_dir(node: Node) -> str:
    """The absolute path of the directory of the node's logs."""
    return os.path.abspath(node.log_directory.path)


def volume_bytes(path: str) -> tuple[int, int]:
    """The total and free bytes of a path's volume; -1 if the system does not know (KIP-827)."""
    try:
        volume = os.statvfs(path)
    except OSError:
        return _UNKNOWN_BYTES, _UNKNOWN_BYTES
    return volume.f_frsize * volume.f_blocks, volume.f_frsize * volume.f_bavail
