"""A capture as the events of a trace."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import IO, NamedTuple

from ...trace.events import Event
from .broker_nodes import NAMING, BrokerNodes
from .capture_files import packets_of
from .connections import Connections, skipped_lines
from .conversation import Shared
from .frame_cutter import Room
from .segments import knows, segment_of


class Summary(NamedTuple):
    """What a capture had.

    Attributes:
        events: their number.
        connections: those of Kafka.
        skipped: a line for each broker whose connections were skipped, with the reason.
    """

    packets: int
    events: int
    connections: int
    skipped: list[str]


def read_capture(
    file: IO[bytes],
    tell: Callable[[Event], object],
    ports: Collection[int] = (),
    room: Room | None = None,
) -> Summary:
    """Tell the events of a capture one by one, as it is read.

    A file is read twice, first for the nodes of the brokers' addresses. What cannot be read twice
    has them from the first answer on that names them.

    Args:
        tell: takes an event.
        ports: of brokers; none: they are found.
        room: the memory for large frames.

    Raises:
        NoCapture: it is no capture. OSError: it cannot be read.
    """
    told = 0

    def add(event: Event, at_us: int) -> int:
        nonlocal told
        told = event.seq = told + 1
        event.at_ms = at_us // 1000
        tell(event)
        return told

    room, nodes = room or Room(), BrokerNodes()
    if file.seekable():
        _read(file, Connections(Shared(_nothing, room, nodes, NAMING), ports))
        file.seek(0)
    connections = Connections(Shared(add, room, nodes), ports)
    packets, unknown = _read(file, connections)
    lines = [f"skipped packets of link type {each}" for each in sorted(unknown)]
    lines += skipped_lines(connections.skipped)
    return Summary(packets, told, connections.kafka, lines)


def _nothing(event: Event, at_us: int) -> int:
    """Events are not wanted."""
    return 0


def _read(file: IO[bytes], connections: Connections) -> tuple[int, set[int]]:
    """The number of packets, and the link types that are not known."""
    packets, unknown = 0, set()
    for packet in packets_of(file):
        packets += 1
        if not knows(packet.link_type):
            unknown.add(packet.link_type)
            continue
        segment = segment_of(packet)
        if segment is not None:
            connections.add(segment)
    connections.end()
    return packets, unknown
