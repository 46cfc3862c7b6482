"""The TCP segments in captured packets, by dpkt (`ottla[pcap]`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import dpkt

from .capture_files import Packet

Endpoint = tuple[bytes, int]
"""An address of 4 or 16 bytes, and a port."""
_DEEPEST: Final = 8  # layers, such as VLAN tags and tunnels


class Segment(NamedTuple):
    """A TCP segment.

    Attributes:
        sequence: the number of its first byte, modulo 2**32.
    """

    at_us: int
    source: Endpoint
    target: Endpoint
    sequence: int
    payload: bytes
    flags: int

    @property
    def is_syn(self) -> bool:
        return bool(self.flags & dpkt.tcp.TH_SYN)

    @property
    def is_ack(self) -> bool:
        return bool(self.flags & dpkt.tcp.TH_ACK)

    @property
    def is_fin(self) -> bool:
        return bool(self.flags & dpkt.tcp.TH_FIN)

    @property
    def is_rst(self) -> bool:
        return bool(self.flags & dpkt.tcp.TH_RST)


def _of_address_family(data: bytes) -> Any:
    return dpkt.ip6.IP6(data) if data[0] >> 4 == 6 else dpkt.ip.IP(data)


_LINKS: Final[dict[int, Callable[[bytes], Any]]] = {
    0: dpkt.loopback.Loopback,
    1: dpkt.ethernet.Ethernet,
    12: _of_address_family,
    14: _of_address_family,
    101: _of_address_family,
    108: dpkt.loopback.Loopback,
    113: dpkt.sll.SLL,
    228: _of_address_family,
    229: _of_address_family,
    276: dpkt.sll2.SLL2,
}


def knows(link_type: int) -> bool:
    """Whether packets of this outermost protocol can be read."""
    return link_type in _LINKS


def segment_of(packet: Packet) -> Segment | None:
    """The TCP segment in a packet; None if there is none, or it is broken."""
    try:
        layer = _LINKS[packet.link_type](packet.data)
        for _ in range(_DEEPEST):
            inner = layer.data
            if isinstance(inner, dpkt.tcp.TCP):
                return Segment(
                    packet.at_us, (layer.src, inner.sport), (layer.dst, inner.dport), inner.seq,
                    bytes(inner.data), inner.flags,
                )  # fmt: skip
            if not isinstance(inner, dpkt.Packet):
                return None
            layer = inner
    except Exception:  # dpkt raises many exceptions for bytes that are no packet
        return None
    return None
