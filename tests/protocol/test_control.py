"""Markers are written as Kafka writes them, and Kafka's are read."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.batch import build, crc_is_right, read_header
from ottla.protocol.control import Marker, marker, read_marker
from ottla.protocol.errors import Code, Refused
from tests.protocol.golden_bytes import BATCHES
from tests.protocol.placing import place


@pytest.mark.parametrize(("name", "commit"), [("commit marker", True), ("abort marker", False)])
def test_a_marker_equals_kafkas_byte_for_byte(name: str, commit: bool) -> None:
    golden = BATCHES[name].data
    theirs = read_header(golden)
    ours = marker(
        commit=commit,
        producer_id=theirs.producer_id,
        producer_epoch=theirs.producer_epoch,
        coordinator_epoch=0,
        timestamp_ms=theirs.base_timestamp_ms,
    )
    place(ours, base_offset=theirs.base_offset, leader_epoch=theirs.leader_epoch)
    assert bytes(ours) == golden


@pytest.mark.parametrize(("name", "commit"), [("commit marker", True), ("abort marker", False)])
def test_kafkas_markers_are_read(name: str, commit: bool) -> None:
    data = b"__" + BATCHES[name].data
    assert read_marker(data, 2, read_header(data, 2)) == Marker(commit, 0)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("coordinator_epoch", [0, 7, 2**31 - 1])
def test_written_fields_read_back_equal(commit: bool, coordinator_epoch: int) -> None:
    data = marker(
        commit=commit,
        producer_id=1 << 40,
        producer_epoch=32767,
        coordinator_epoch=coordinator_epoch,
        timestamp_ms=1,
    )
    header = read_header(data)
    assert (header.is_control, header.is_transactional) == (True, True)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1 << 40, 32767, -1)
    assert crc_is_right(data, 0, header)
    assert read_marker(data, 0, header) == Marker(commit, coordinator_epoch)


@given(
    st.booleans(), st.integers(0, 2**63 - 1), st.integers(0, 2**15 - 1), st.integers(0, 2**31 - 1),
    st.integers(0, 2**62),
)  # fmt: skip
def test_a_marker_is_the_batch_of_its_control_record(
    commit: bool, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp_ms: int
) -> None:
    producer = {"producer_id": producer_id, "producer_epoch": producer_epoch}
    key, value = struct.pack(">hh", 0, commit), struct.pack(">hi", 0, coordinator_epoch)
    batch = build(
        [(key, value)], timestamp_ms=timestamp_ms, transactional=True, control=True, **producer
    )
    assert batch == marker(
        commit=commit, coordinator_epoch=coordinator_epoch, timestamp_ms=timestamp_ms, **producer
    )


def control_batch(key: bytes | None, value: bytes | None) -> bytearray:
    return build([(key, value)], timestamp_ms=0, producer_id=1, producer_epoch=0, control=True)


@pytest.mark.parametrize("kind", [2, 3, 5, -1])
def test_a_control_record_of_another_type_is_no_marker(kind: int) -> None:
    """LEADER_CHANGE and the snapshot records of KRaft have types from 2 on."""
    data = control_batch(struct.pack(">hh", 0, kind), b"")
    assert read_marker(data, 0, read_header(data)) is None


def test_a_marker_of_a_later_version_is_read() -> None:
    data = control_batch(struct.pack(">hhh", 1, 1, 9), struct.pack(">hii", 1, 5, 9))
    assert read_marker(data, 0, read_header(data)) == Marker(True, 5)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, struct.pack(">hi", 0, 0)),
        (b"\0\0\0", struct.pack(">hi", 0, 0)),
        (struct.pack(">hh", 0, 1), None),
        (struct.pack(">hh", 0, 0), b"\0\0\0\0\0"),
    ],
    ids=["no key", "short key", "no value", "short value"],
)
def test_a_control_record_that_cannot_be_read_is_invalid(
    key: bytes | None, value: bytes | None
) -> None:
    data = control_batch(key, value)
    with pytest.raises(Refused) as refused:
        read_marker(data, 0, read_header(data))
    assert refused.value.code == Code.INVALID_RECORD


def test_a_control_batch_of_no_records_is_invalid() -> None:
    data = build([], timestamp_ms=0, control=True)
    with pytest.raises(Refused, match="INVALID_RECORD"):
        read_marker(data, 0, read_header(data))
