"""The physical limits of this machine for a record's way through a broker.

Each limit is measured in one thread, in 10^6 bytes per second: copying memory, the CRC of a batch,
appending to a file in the page cache, and sending over the loopback interface.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Callable

import crc32c

BLOCK_BYTES = 1 << 20
LASTS_S = 0.5


def _rate(step: Callable[[], object]) -> float:
    """10^6 bytes per second of a step that handles one block."""
    step()
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < LASTS_S:
        step()
        count += 1
    return count * BLOCK_BYTES / 1e6 / (time.perf_counter() - started)


def _loopback() -> float:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sending = socket.create_connection(server.getsockname())
        receiving, _ = server.accept()
    block, buffer = bytes(BLOCK_BYTES), bytearray(BLOCK_BYTES)

    def drain() -> None:
        while receiving.recv_into(buffer):
            pass

    thread = threading.Thread(target=drain)
    thread.start()
    rate = _rate(lambda: sending.sendall(block))
    sending.close()
    thread.join()
    receiving.close()
    return rate


def _append() -> float:
    block = bytes(BLOCK_BYTES)
    with tempfile.TemporaryFile(buffering=0) as file:

        def step() -> None:
            if file.tell() >= 256 * BLOCK_BYTES:
                file.seek(0)
            file.write(block)

        return _rate(step)


def limits() -> dict[str, float]:
    """Each limit by its name, in 10^6 bytes per second."""
    source, target = bytes(BLOCK_BYTES), bytearray(BLOCK_BYTES)

    def copy() -> None:
        target[:] = source

    return {
        "copy memory": _rate(copy),
        "CRC-32C": _rate(lambda: crc32c.crc32c(source)),
        "append to a file": _append(),
        "loopback, one sender and one receiver": _loopback(),
    }
