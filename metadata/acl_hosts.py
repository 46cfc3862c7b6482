"""Hosts of access control entries: one address, every address, or a range of them.

A range is in CIDR notation, such as 10.0.0.0/8 (KIP-1276), with metadata.version 4.4-IV1 or higher.
Its checks and their messages are those that Kafka 4.4 has by SubnetUtils of Apache Commons Net.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

WILDCARD_HOST: Final = "*"
RANGES_SINCE: Final = 32
"""The level of metadata.version that has ranges."""

_IPV4: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})/([0-9]{1,2})")
_PREFIX: Final = re.compile(r"[+-]?[0-9]{1,9}")
_MOST_REMEMBERED: Final = 1024


class AddressRange(NamedTuple):
    """Addresses of one version of IP, as numbers; both ends belong to it."""

    version: int
    first: int
    last: int


def is_range(host: str) -> bool:
    """Whether the host of an entry is written as a range."""
    return "/" in host


@lru_cache(_MOST_REMEMBERED)
def range_of(host: str) -> AddressRange:
    """The addresses of a range; bits behind its prefix are ignored.

    Raises:
        ValueError: the text is no range, in Kafka's words.
    """
    if ":" in host:
        version, bits = 6, 128
        number, prefix = _ipv6(host)
    else:
        version, bits = 4, 32
        number, prefix = _ipv4(host)
    size = 1 << (bits - prefix)
    first = number // size * size
    return AddressRange(version, first, first + size - 1)


def _ipv4(host: str) -> tuple[int, int]:
    found = _IPV4.fullmatch(host)
    if found is None:
        raise ValueError(f"Could not parse [{host}]")
    *octets, prefix = map(int, found.groups())
    for value, most in (*((octet, 255) for octet in octets), (prefix, 32)):
        if value > most:
            raise ValueError(f"Value [{value}] not in range [0,{most}]")
    return int.from_bytes(bytes(octets)), prefix


def _ipv6(host: str) -> tuple[int, int]:
    from ipaddress import IPv6Address  # entries seldom have ranges

    address, _, prefix = host.partition("/")
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"Could not parse [{host}] - invalid prefix length")
    if not 0 <= int(prefix) <= 128:
        raise ValueError(f"Could not parse [{host}] - prefix length must be between 0 and 128")
    try:
        parsed = IPv6Address(address)
    except ValueError:
        raise ValueError(f"Could not parse [{address}]") from None
    if parsed.ipv4_mapped is not None:
        raise ValueError(f"Could not parse [{address}] - not an IPv6 address")
    return int(parsed), int(prefix)


def is_of_host(acl_host: str, address: str) -> bool:
    """Whether an entry for `acl_host` is about a client at an address."""
    if acl_host in (address, WILDCARD_HOST):
        return True
    if not is_range(acl_host):
        return False
    from ipaddress import ip_address

    try:
        found, client = range_of(acl_host), ip_address(address)
    except ValueError:
        return False
    return client.version == found.version and found.first <= int(client) <= found.last
