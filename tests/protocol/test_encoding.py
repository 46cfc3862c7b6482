"""kafka-python is the referee: it writes the same bytes, and reads the same values from them.

All its messages are compared, in all versions that Kafka has kept.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol import schemas as librarys
from kafka.protocol.schemas.fields.codecs import EncodeBuffer

from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey
from tests.library_classes import library_class, library_record
from tests.protocol.message_values import KINDS, Values, built, plain

SEEDS = (*KINDS, *range(100, 105))
APIS = {codec.api_name(key): key for key in ApiKey}
NAMES = sorted(
    path.stem
    for path in (Path(librarys.__file__).parent / "resources").glob("*.json")
    if not path.stem.endswith("Header")
)


def of_the_library(name: str) -> Any:
    for kind in ("Request", "Response"):
        if name.endswith(kind):
            return library_class(APIS[name.removesuffix(kind)], kind)
    return library_record(name)


def versions(name: str) -> range:
    """Those of the library without those that Kafka has removed."""
    struct = of_the_library(name)._struct
    lowest, highest = codec.data_class(name).valid_versions
    return range(max(lowest, struct.min_version), min(highest, struct.max_version) + 1)


def by_the_library(cls: Any, version: int, values: dict[str, Any], *, flexible: bool) -> bytes:
    out = EncodeBuffer()
    encode = cls._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
    encode(built(cls._struct, cls, values, version), out)
    return bytes(out.result())


def test_the_library_knows_the_messages_of_most_clients() -> None:
    assert len(NAMES) > 100
    assert {"FetchRequest", "FetchResponse", "ConsumerProtocolSubscription"} <= set(NAMES)


@pytest.mark.parametrize(
    ("name", "version"), [(name, version) for name in NAMES for version in versions(name)]
)
def test_random_messages_have_the_librarys_bytes_and_values(name: str, version: int) -> None:
    ours, theirs = codec.data_class(name), of_the_library(name)
    flexible = codec.is_flexible(ours, version)
    for seed in SEEDS:
        values = Values(seed).of_struct(ours._struct, version)
        written = bytearray(b"before")
        codec.encoder(ours, version)(values, written)
        expected = by_the_library(theirs, version, values, flexible=flexible)
        assert written == b"before" + expected, seed
        read, end = codec.decoder(ours, version)(memoryview(expected), 0)
        again = theirs._struct.decode(
            BytesIO(expected), version=version, compact=flexible, tagged=flexible, data_class=theirs
        )
        assert end == len(expected)
        assert _numbers(plain(ours._struct, read, version)) == _numbers(
            plain(theirs._struct, again, version)
        )


def _numbers(value: Any) -> Any:
    """Sets of operations as the number that the decoder reads."""
    if isinstance(value, dict):
        return {
            name: _bits(each) if name == "authorized_operations" else _numbers(each)
            for name, each in value.items()
        }
    return [_numbers(each) for each in value] if isinstance(value, list) else value


def _bits(value: Any) -> int:
    if isinstance(value, int):
        return value & 0xFFFFFFFF
    return 1 << 31 if value is None else sum(1 << bit for bit in value)


def test_an_encoder_is_compiled_once() -> None:
    cls = codec.message_class(ApiKey.HEARTBEAT, "Response")
    assert codec.encoder(cls, 4) is codec.encoder(cls, 4)
    assert codec.encoder(cls, 4) is not codec.encoder(cls, 3)
