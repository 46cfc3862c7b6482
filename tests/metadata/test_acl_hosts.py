"""Ranges of hosts in access control entries; messages and decisions are those of Kafka 4.4.0."""

from __future__ import annotations

import re

import pytest

from ottla.metadata.acl_hosts import is_of_host, range_of

UNPARSED = "Could not parse [{}]"
PREFIX = "Could not parse [{}] - prefix length must be between 0 and 128"
NO_PREFIX = "Could not parse [{}] - invalid prefix length"


@pytest.mark.parametrize(
    ("acl_host", "inside", "outside"),
    [
        ("127.0.0.4/30", "127.0.0.4 127.0.0.5 127.0.0.7", "127.0.0.1 127.0.0.8 127.1.2.3"),
        ("127.0.0.5/30", "127.0.0.4 127.0.0.7", "127.0.0.8"),
        ("127.0.0.1/32", "127.0.0.1", "127.0.0.2"),
        ("127.0.0.0/31", "127.0.0.1", "127.0.0.4"),
        ("127.1.0.0/16", "127.1.2.3", "127.0.0.1"),
        ("10.0.0.0/0", "127.0.0.1", "::1"),
        ("010.0.0.0/08", "10.1.2.3", "11.0.0.0"),
        ("::/0", "::1", "127.0.0.1"),
        ("fe80::1/64", "fe80::2 fe80::ffff:0:0:0", "fe80:0:0:1::"),
        ("FE80::/10", "fe80::1 febf::1", "fec0::"),
        ("*", "127.0.0.1 ::1", ""),
        ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
        ("nonsense/8", "", "127.0.0.1"),
        ("10.0.0.0/8", "10.255.255.255", "no-address"),
    ],
)
def test_an_entry_is_about_the_hosts_of_its_range(acl_host: str, inside: str, outside: str) -> None:
    assert [is_of_host(acl_host, each) for each in inside.split()] == [True] * len(inside.split())
    assert not any(is_of_host(acl_host, each) for each in outside.split())


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("10.0.0.0/33", "Value [33] not in range [0,32]"),
        ("10.0.0.256/8", "Value [256] not in range [0,255]"),
        *((each, UNPARSED.format(each)) for each in ("10.0.0.0/", "/8", "/", "a/b", "*/8", "é/8")),
        *((each, UNPARSED.format(each)) for each in ("10.0.0/8", "1.2.3/33", "fe80/10")),
        *((each, UNPARSED.format(each)) for each in ("10.0.0.0/008", "10.0.0.0/-1", "10.0.0.0/ 8")),
        *((each, UNPARSED.format(each)) for each in (" 10.0.0.0/8", "10.0.0.0/8 ")),
        *((each, UNPARSED.format(each)) for each in ("10.0.0.0/255.0.0.0", "10.0.0.0/8/9")),
        *((each, PREFIX.format(each)) for each in ("fe80::/129", "fe80::/-1", "fe80::/200")),
        *((each, NO_PREFIX.format(each)) for each in ("fe80::/", "fe80::/a", "1::/10/2")),
        ("fe80::zz/10", UNPARSED.format("fe80::zz")),
        ("12345::/10", UNPARSED.format("12345::")),
        ("::ffff:10.0.0.0/104", "Could not parse [::ffff:10.0.0.0] - not an IPv6 address"),
    ],
)
def test_a_wrong_range_is_refused_in_kafkas_words(host: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        range_of(host)


@pytest.mark.parametrize("host", ["fe80::%eth0/10", "1:2:3:4:5:6:7:8/64", "::/128", "fe80::/010"])
def test_other_ranges_of_kafka_are_taken(host: str) -> None:
    assert range_of(host).version == 6
