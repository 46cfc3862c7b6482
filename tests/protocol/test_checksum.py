"""CRC-32C is Castagnoli's, over any bytes-like object."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ottla.protocol.checksum import crc32c

# RFC 3720, appendix B.4, and the check value of the CRC catalogue.
KNOWN = [
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (b"", 0),
]


@pytest.mark.parametrize(("data", "expected"), KNOWN)
def test_the_known_values_come_out(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected


def test_any_bytes_like_object_will_do() -> None:
    data = b"_123456789_"
    assert {
        crc32c(memoryview(data)[1:-1]),
        crc32c(bytearray(b"123456789")),
        crc32c(memoryview(bytearray(data))[1:-1]),
    } == {0xE3069283}


def test_the_library_is_loaded_without_its_costly_package() -> None:
    program = (
        "import sys; from ottla.protocol.checksum import crc32c; crc32c(b'');"
        "assert 'crc32c' not in sys.modules and 'importlib.metadata' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
