"""The compiled encoders write what the library's encoders write, for every message and version."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.protocol import codec
from ottla.protocol.api_keys import ApiKey
from tests.library_classes import library_class
from tests.protocol.message_values import SERVED, SERVED_IDS, Values, built

SEEDS = range(100, 110)

every_version = pytest.mark.parametrize(("key", "version"), SERVED, ids=SERVED_IDS)


def by_the_library(cls: Any, version: int, values: dict[str, Any], *, flexible: bool) -> bytes:
    from kafka.protocol.schemas.fields.codecs import EncodeBuffer

    out = EncodeBuffer()
    encode = cls._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
    encode(built(cls._struct, cls, values, version), out)
    return bytes(out.result())


@every_version
@pytest.mark.parametrize("kind", ["Request", "Response"])
def test_random_messages_have_the_librarys_bytes(key: ApiKey, version: int, kind: str) -> None:
    ours, theirs = codec.message_class(key, kind), library_class(key, kind)
    encode, flexible = codec.encoder(ours, version), codec.is_flexible(ours, version)
    for seed in SEEDS:
        values = Values(seed).of_struct(theirs._struct, version)
        written = bytearray(b"before")
        encode(values, written)
        assert written == b"before" + by_the_library(theirs, version, values, flexible=flexible), (
            seed
        )


def test_an_encoder_is_compiled_once() -> None:
    cls = codec.message_class(ApiKey.HEARTBEAT, "Response")
    assert codec.encoder(cls, 4) is codec.encoder(cls, 4)
    assert codec.encoder(cls, 4) is not codec.encoder(cls, 3)
