"""Keys and values of records in logs: written and read by the schemas beside the codec."""

from __future__ import annotations

from contextlib import suppress
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol import schemas
from ottla.protocol.codec import data_class, is_flexible
from ottla.protocol.errors import Malformed
from ottla.protocol.messages import decode_data, encode_data
from tests.protocol.message_values import KINDS, Reference, Values, plain

NAMES = sorted(
    each.name.removesuffix(".json")
    for each in resources.files(schemas).iterdir()
    if each.name.endswith(".json") and not each.name.endswith(("Request.json", "Response.json"))
)


def versions_of(name: str) -> range:
    lowest, highest = data_class(name).valid_versions
    return range(lowest, highest + 1)


EVERY_VERSION = [(name, version) for name in NAMES for version in versions_of(name)]
every_version = pytest.mark.parametrize(("name", "version"), EVERY_VERSION)


def values(name: str, version: int, kind: str | int) -> dict[str, Any]:
    return Values(kind).of_struct(data_class(name)._struct, version)


def test_all_three_internal_logs_have_schemas() -> None:
    assert {"TransactionLogKey", "OffsetCommitValue", "TopicRecord"} <= set(NAMES)


@every_version
def test_written_fields_read_back_equal(name: str, version: int) -> None:
    cls = data_class(name)
    for kind in KINDS:
        meant = values(name, version, kind)
        data = encode_data(name, version, meant)
        reference = Reference(version, flexible=is_flexible(cls, version), unknown={})
        assert data == version.to_bytes(2, "big") + reference.struct(cls._struct, meant)
        item = decode_data(name, data)
        assert plain(cls._struct, item, version) == meant


@every_version
def test_unknown_tagged_fields_of_data_are_skipped(name: str, version: int) -> None:
    """A later Kafka may have written the log."""
    cls = data_class(name)
    if not is_flexible(cls, version):
        return
    meant = values(name, version, "full")
    reference = Reference(version, flexible=True, unknown={77: b"later"})
    data = version.to_bytes(2, "big") + reference.struct(cls._struct, meant)
    assert plain(cls._struct, decode_data(name, data), version) == meant


@every_version
def test_truncated_data_is_malformed(name: str, version: int) -> None:
    data = encode_data(name, version, values(name, version, "full"))
    for end in range(len(data)):
        with pytest.raises(Malformed):
            decode_data(name, data[:end])


@pytest.mark.parametrize("name", NAMES)
def test_a_version_without_a_schema_is_malformed(name: str) -> None:
    lowest, highest = data_class(name).valid_versions
    for version in (lowest - 1, highest + 1):
        data = version.to_bytes(2, "big", signed=True) + bytes(100)
        with pytest.raises(Malformed, match="has no version"):
            decode_data(name, data)


@given(st.sampled_from(NAMES), st.integers(0, 4), st.binary(max_size=60))
def test_any_bytes_are_data_or_malformed(name: str, version: int, body: bytes) -> None:
    """No other exception leaves the decoder."""
    with suppress(Malformed):
        assert decode_data(name, version.to_bytes(2, "big") + body)


@given(st.sampled_from(NAMES), st.data())
def test_data_with_wrong_bytes_are_data_or_malformed(name: str, draw: st.DataObject) -> None:
    lowest, highest = data_class(name).valid_versions
    version = draw.draw(st.integers(lowest, highest))
    data = bytearray(encode_data(name, version, {}))
    assert decode_data(name, data)
    for at in draw.draw(st.sets(st.integers(2, len(data) - 1), max_size=3)):
        data[at] = draw.draw(st.integers(0, 255))
    with suppress(Malformed):
        assert decode_data(name, data)


def test_the_numbers_of_a_transaction_stand_where_kafka_has_them() -> None:
    """A value of `__transaction_state`, version 0, byte by byte."""
    fields = {
        "producer_id": 0x1122,
        "producer_epoch": 3,
        "transaction_timeout_ms": 60000,
        "transaction_status": 1,
        "transaction_partitions": [{"topic": "t", "partition_ids": [7]}],
        "transaction_last_update_timestamp_ms": 5,
        "transaction_start_timestamp_ms": 4,
    }
    expected = (
        "0000 0000000000001122 0003 0000ea60 01"
        "00000001 0001 74 00000001 00000007"
        "0000000000000005 0000000000000004"
    )
    data = encode_data("TransactionLogValue", 0, fields)
    assert data.hex() == expected.replace(" ", "")


def test_a_missing_field_has_its_default_and_a_wrong_name_is_a_fault() -> None:
    assert encode_data("TransactionLogKey", 0, {}) == bytes(4)
    with pytest.raises(KeyError, match="has no field"):
        encode_data("TransactionLogKey", 0, {"transaction_id": "x"})


def test_null_that_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(ValueError, match="may not be null"):
        encode_data("TransactionLogKey", 0, {"transactional_id": None})


def test_data_may_be_any_bytes_like_object() -> None:
    data = encode_data("TransactionLogKey", 0, {"transactional_id": "shop"})
    for form in (data, bytearray(data), memoryview(data)):
        assert decode_data("TransactionLogKey", form).transactional_id == "shop"


def test_a_name_without_a_schema_has_no_class() -> None:
    with pytest.raises(FileNotFoundError):
        data_class("NoSuchRecord")
