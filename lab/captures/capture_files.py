"""Reads capture files packet by packet: pcap and pcapng, of both byte orders.

dpkt's own readers know one interface per file, and believe every length. Files of several
interfaces, and files that are cut or broken, are read here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, Final, NamedTuple

_PCAP: Final = {
    b"\xa1\xb2\xc3\xd4": (">", 1_000_000),
    b"\xd4\xc3\xb2\xa1": ("<", 1_000_000),
    b"\xa1\xb2\x3c\x4d": (">", 1_000_000_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1_000_000_000),
}
"""First bytes to byte order and time units of a second."""
_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_ORDERS: Final = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_MOST_BYTES: Final = 1 << 24  # of a packet or block
_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 1, 2, 3, 6
_END_OF_OPTIONS, _UNITS, _OFFSET = 0, 9, 14


class NoCapture(Exception):
    """A file is no capture; the text says why."""


class Packet(NamedTuple):
    """A packet as it was captured.

    Attributes:
        link_type: the number of its outermost protocol (LINKTYPE of libpcap).
    """

    at_us: int
    link_type: int
    data: bytes


class _Interface(NamedTuple):
    link_type: int
    units: int  # of a second
    offset_s: int


def packets_of(file: IO[bytes]) -> Iterator[Packet]:
    """The packets of a file, in its order; a cut last one is left out.

    Raises:
        NoCapture: it is neither pcap nor pcapng, or broken in the middle.
    """
    first = file.read(4)
    if first in _PCAP:
        return _of_pcap(file, *_PCAP[first])
    if first == _SECTION:
        return _of_pcapng(file)
    raise NoCapture("this is no capture: neither pcap nor pcapng")


def _of_pcap(file: IO[bytes], order: str, units: int) -> Iterator[Packet]:
    header = file.read(20)
    if len(header) < 20:
        raise NoCapture("the header of the capture is cut")
    link_type = struct.unpack(f"{order}I", header[16:])[0] & 0xFFFF
    record = struct.Struct(f"{order}IIII")
    while len(head := file.read(record.size)) == record.size:
        seconds, part, size, _ = record.unpack(head)
        if size > _MOST_BYTES:
            raise NoCapture(f"the capture is broken: a packet of {size} bytes")
        data = file.read(size)
        if len(data) < size:
            return
        yield Packet(seconds * 1_000_000 + part * 1_000_000 // units, link_type, data)


def _of_pcapng(file: IO[bytes]) -> Iterator[Packet]:
    interfaces: list[_Interface] = []
    order = ""
    kind: bytes = _SECTION
    while len(kind) == 4:
        length = file.read(4)
        if kind == _SECTION:
            magic = file.read(4)
            if len(magic) < 4:
                return
            if magic not in _ORDERS:
                raise NoCapture("the capture is broken: a section without a byte order")
            order, interfaces = _ORDERS[magic], []
        already = 12 if kind == _SECTION else 8
        body = _body(file, order, length, already)
        if body is None:
            return
        number = struct.unpack(f"{order}I", kind)[0]
        if kind != _SECTION:
            if number == _INTERFACE:
                interfaces.append(_interface(order, body))
            elif (packet := _packet(number, order, body, interfaces)) is not None:
                yield packet
        kind = file.read(4)


def _body(file: IO[bytes], order: str, length: bytes, already: int) -> bytes | None:
    """The rest of a block without its second length; None if the file ends in it."""
    if len(length) < 4:
        return None
    size: int = struct.unpack(f"{order}I", length)[0]
    if size > _MOST_BYTES or size < already + 4:
        raise NoCapture(f"the capture is broken: a block of {size} bytes")
    data = file.read(size - already)
    return data[:-4] if len(data) == size - already else None


def _interface(order: str, body: bytes) -> _Interface:
    if len(body) < 8:
        raise NoCapture("the capture is broken: an interface that is cut")
    link_type = struct.unpack_from(f"{order}H", body)[0]
    units, offset_s, position = 1_000_000, 0, 8
    while position + 4 <= len(body):
        code, size = struct.unpack_from(f"{order}HH", body, position)
        value = body[position + 4 : position + 4 + size]
        if code == _END_OF_OPTIONS:
            break
        if code == _UNITS and size == 1:
            units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        if code == _OFFSET and size == 8:
            offset_s = struct.unpack(f"{order}q", value)[0]
        position += 4 + (size + 3 & ~3)
    return _Interface(link_type, units, offset_s)


def _packet(kind: int, order: str, body: bytes, interfaces: list[_Interface]) -> Packet | None:
    """The packet of a block; None if the block has none, or has none that can be read."""
    if kind == _SIMPLE_PACKET and interfaces:
        return Packet(0, interfaces[0].link_type, body[4:])
    if kind not in (_PACKET, _OLD_PACKET) or len(body) < 20:
        return None
    if kind == _PACKET:
        index, high, low, size = struct.unpack_from(f"{order}IIII", body)
    else:
        index, _, high, low, size = struct.unpack_from(f"{order}HHIII", body)
    if index >= len(interfaces):
        return None
    interface = interfaces[index]
    at_us = (high << 32 | low) * 1_000_000 // interface.units + interface.offset_s * 1_000_000
    return Packet(at_us, interface.link_type, body[20 : 20 + size])
