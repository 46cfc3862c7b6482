"""A client that sends small requests by a fixed schedule, in a process of its own.

`good_client.py HOST:PORT TOPIC EVERY_MS SECONDS` prints one JSON object: the number of requests and
their latencies in ms. It sends a Produce of one record with acks=all and a Fetch of one record in
turn. A latency counts from the time at which its request was due, so that a broker that stands
still is charged with every request that it delays, not with the one that it holds. A request is
sent when it is due, even if those before it have no answer yet.
"""

from __future__ import annotations

import gc
import json
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

WARM_UP_REQUESTS: Final = 200
ANSWER_TIMEOUT_S: Final = 60.0
LENGTH: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Latencies:
    """The latencies of some requests; a percentile is the latency of one of them."""

    requests: int
    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float


def percentile(ordered: Sequence[float], per_mille: int) -> float:
    """The smallest of some sorted figures that so many thousandths of them do not exceed."""
    return ordered[max(0, -(-len(ordered) * per_mille // 1000) - 1)]


def summarize(latencies_s: Sequence[float]) -> Latencies:
    """The percentiles of at least one latency."""
    ordered = [each * 1000 for each in sorted(latencies_s)]
    p50_ms, p99_ms, p999_ms = (percentile(ordered, part) for part in (500, 990, 999))
    return Latencies(len(ordered), p50_ms, p99_ms, p999_ms, ordered[-1])


class Asked(Protocol):
    """What a schedule sends requests to."""

    def send(self, number: int) -> None:
        """Send the request of a number without waiting for its answer."""

    def receive(self, wait_s: float) -> int:
        """Wait so long for answers; the number of those that have come, in order."""


def ask_on_schedule(
    asked: Asked, every_s: float, count: int, now_s: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Send so many requests, each when it is due, whether or not those before it are answered.

    Args:
        every_s: the time from one request to the next.

    Returns:
        The seconds from the time at which each request was due to its answer.
    """
    began_s = now_s()
    sent = 0
    latencies_s: list[float] = []
    while len(latencies_s) < count:
        early_s = began_s + sent * every_s - now_s()
        if sent < count and early_s <= 0:
            asked.send(sent)
            sent += 1
            continue
        answers = asked.receive(early_s if sent < count else ANSWER_TIMEOUT_S)
        came_s, first = now_s() - began_s, len(latencies_s)
        latencies_s += [came_s - (first + number) * every_s for number in range(answers)]
    return latencies_s


class Frames:
    """Sends prepared frames in turn, and counts the answers."""

    def __init__(self, address: tuple[str, int], frames: Sequence[bytes]) -> None:
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._frames = frames
        self._unread = bytearray()

    def send(self, number: int) -> None:
        """Send the frame of a number."""
        self._socket.sendall(self._frames[number % len(self._frames)])

    def receive(self, wait_s: float) -> int:
        """Wait so long for bytes; the number of answers that are whole now."""
        if not select.select([self._socket], [], [], wait_s)[0]:
            assert wait_s < ANSWER_TIMEOUT_S, "the broker does not answer"
            return 0
        received = self._socket.recv(1 << 20)
        assert received, "the broker closed the connection"
        self._unread += received
        return take_whole(self._unread)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def take_whole(unread: bytearray) -> int:
    """Remove the frames that are there whole; their number."""
    position = count = 0
    while len(unread) >= position + LENGTH.size:
        end = position + LENGTH.size + LENGTH.unpack_from(unread, position)[0]
        if len(unread) < end:
            break
        position, count = end, count + 1
    del unread[:position]
    return count


def main() -> int:
    """Ask, and print the latencies."""
    from benchmarks.load import produce_body
    from benchmarks.loop_lag_scenes import fetch
    from tests.wire.batches import batch
    from tests.wire.client import encode

    bootstrap, topic, every_ms, seconds = sys.argv[1:]
    host, port = bootstrap.rsplit(":", 1)
    produce = encode("Produce", 9, produce_body(topic, batch([b"x" * 100])), correlation_id=1)
    its = Frames((host, int(port)), (produce, fetch(topic, [0], max_bytes=1)))
    every_s = float(every_ms) / 1000
    ask_on_schedule(its, every_s, WARM_UP_REQUESTS)
    gc.freeze()
    gc.disable()  # a collection of the client's would count as the broker's
    found = summarize(ask_on_schedule(its, every_s, int(float(seconds) / every_s)))
    print(json.dumps(asdict(found)))
    its.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
