"""Captures made of the bytes of connections: TCP segments in packets, by dpkt."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Any

import dpkt

FIRST_S = 1_700_000_000.0
STEP_S = 0.001
ETHERNET, LOOPBACK, RAW, SLL, SLL2 = 1, 0, 101, 113, 276
_MAC = b"\x02\0\0\0\0\1"


class Connection:
    """Packs what two sides send; keeps their sequence numbers.

    Args:
        client, broker: address and port.
        link: the link type of the packets.
    """

    def __init__(
        self,
        client: tuple[str, int] = ("127.0.0.1", 50_000),
        broker: tuple[str, int] = ("127.0.0.1", 9092),
        link: int = ETHERNET,
        first_number: int = 2**32 - 50,
    ) -> None:
        self._ends = {True: client, False: broker}
        self._link = link
        self._next = {True: first_number, False: first_number // 2}
        self.packets: list[bytes] = []

    def open(self) -> Connection:
        """The handshake."""
        self._pack(True, b"", dpkt.tcp.TH_SYN)
        self._next[True] += 1
        self._pack(False, b"", dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK)
        self._next[False] += 1
        self._pack(True, b"", dpkt.tcp.TH_ACK)
        return self

    def ask(self, data: bytes, size: int = 1400) -> Connection:
        """The client sends bytes in segments of a size."""
        return self._send(True, data, size)

    def answer(self, data: bytes, size: int = 1400) -> Connection:
        """The broker sends bytes."""
        return self._send(False, data, size)

    def lose(self, size: int, *, of_client: bool) -> Connection:
        """One side sends bytes that are not captured."""
        self._next[of_client] += size
        return self

    def close(self) -> Connection:
        """Both sides close, the client first."""
        for of_client in (True, False):
            self._pack(of_client, b"", dpkt.tcp.TH_FIN | dpkt.tcp.TH_ACK)
            self._next[of_client] += 1
        return self

    def reset(self) -> Connection:
        """The broker resets."""
        self._pack(False, b"", dpkt.tcp.TH_RST)
        return self

    def _send(self, of_client: bool, data: bytes, size: int) -> Connection:
        for start in range(0, len(data), size):
            part = data[start : start + size]
            self._pack(of_client, part, dpkt.tcp.TH_ACK | dpkt.tcp.TH_PUSH)
            self._next[of_client] += len(part)
        return self

    def _pack(self, of_client: bool, data: bytes, flags: int) -> None:
        segment = dpkt.tcp.TCP(
            sport=self._ends[of_client][1], dport=self._ends[not of_client][1],
            seq=self._next[of_client] % 2**32, ack=self._next[not of_client] % 2**32, flags=flags,
            data=data,
        )  # fmt: skip
        self.packets.append(
            on_link(self._link, self._ends[of_client][0], self._ends[not of_client][0], segment)
        )


def on_link(link: int, source: str, target: str, segment: Any) -> bytes:
    """A segment in a packet of a link type."""
    addresses = {"src": ip_address(source).packed, "dst": ip_address(target).packed}
    is_old = ip_address(source).version == 4
    packet: Any
    if is_old:
        packet = dpkt.ip.IP(p=dpkt.ip.IP_PROTO_TCP, data=segment, **addresses)
    else:
        packet = dpkt.ip6.IP6(
            nxt=dpkt.ip.IP_PROTO_TCP, hlim=64, plen=len(segment), data=segment, **addresses
        )
    kind = dpkt.ethernet.ETH_TYPE_IP if is_old else dpkt.ethernet.ETH_TYPE_IP6
    if link == LOOPBACK:
        return struct.pack("<I", 2 if is_old else 30) + bytes(packet)
    if link == RAW:
        return bytes(packet)
    if link == SLL:
        return bytes(dpkt.sll.SLL(ethtype=kind, hdr=bytes(8), data=packet))
    if link == SLL2:
        return bytes(dpkt.sll2.SLL2(ethtype=kind, hdr=bytes(8), data=packet))
    # Short frames are padded on the wire.
    framed = bytes(dpkt.ethernet.Ethernet(type=kind, src=_MAC, dst=_MAC, data=packet))
    return framed.ljust(60, b"\xee")


def pcap(packets: Iterable[bytes], link: int = ETHERNET, step_s: float = STEP_S) -> bytes:
    """A pcap file, a packet each millisecond."""
    file = io.BytesIO()
    writer = dpkt.pcap.Writer(file, linktype=link)
    for number, packet in enumerate(packets):
        writer.writepkt(packet, ts=FIRST_S + number * step_s)
    return file.getvalue()


def pcapng(parts: Sequence[tuple[int, Iterable[bytes]]]) -> bytes:
    """A pcapng file with an interface for each link type, in nanoseconds."""
    blocks = [_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for link, _ in parts:
        units = struct.pack("<HHB3x", 9, 1, 9)  # if_tsresol: 10**-9 s
        blocks.append(_block(1, struct.pack("<HHI", link, 0, 0) + units + bytes(4)))
    number = 0
    for index, (_, packets) in enumerate(parts):
        for packet in packets:
            at_ns = int((FIRST_S + number * STEP_S) * 1000) * 1_000_000
            number += 1
            head = struct.pack(
                "<IIIII", index, at_ns >> 32, at_ns & 0xFFFFFFFF, len(packet), len(packet)
            )
            blocks.append(_block(6, head + packet + bytes(-len(packet) % 4)))
    return b"".join(blocks)


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size
