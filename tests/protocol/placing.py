"""Batches as they lie in a log: the fields of the header that the broker sets."""

from __future__ import annotations

import struct


def place(data: bytearray, *, base_offset: int, leader_epoch: int) -> None:
    """Set the base offset and the leader epoch of a batch; neither is under the CRC."""
    struct.pack_into(">q", data, 0, base_offset)
    struct.pack_into(">i", data, 12, leader_epoch)
