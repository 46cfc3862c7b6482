"""Fates by markers, and by the aborted transactions that an answer to Fetch lists."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from ottla.client.fates import AbortedTransactions, Fate, Markers
from ottla.protocol.batch import BatchHeader, build, read_header


def batch(offset: int, producer_id: int, *, transactional: bool = True) -> BatchHeader:
    """The header of a batch of one record."""
    data = build(
        [(None, b"x")],
        timestamp_ms=0,
        base_offset=offset,
        producer_id=producer_id,
        transactional=transactional,
    )
    return read_header(data, 0)


@pytest.mark.parametrize(
    ("offset", "producer_id", "fate"),
    [
        (0, 7, Fate.ABORTED),
        (4, 7, Fate.ABORTED),
        (6, 7, Fate.COMMITTED),
        (10, 7, Fate.OPEN),
        (0, 8, Fate.COMMITTED),
        (0, 9, Fate.OPEN),
    ],
)
def test_the_first_marker_of_its_producer_behind_a_batch_decides(
    offset: int, producer_id: int, fate: Fate
) -> None:
    markers = Markers()
    markers.add(batch(5, 7), commits=False)
    markers.add(batch(6, 8), commits=True)
    markers.add(batch(9, 7), commits=True)
    assert markers.fate(batch(offset, producer_id)) is fate
    assert markers.fate_behind(producer_id, offset) is fate
    assert markers.fate(batch(offset, producer_id, transactional=False)) is Fate.PLAIN


class _Listed(NamedTuple):
    """An aborted transaction in an answer."""

    producer_id: int
    first_offset: int


def test_an_aborted_transaction_is_over_at_its_marker() -> None:
    aborted = AbortedTransactions([_Listed(7, 12), _Listed(8, 0), _Listed(7, 0)])
    assert aborted.has(batch(0, 7))
    assert aborted.has(batch(1, 8))
    assert not aborted.has(batch(2, 9))
    aborted.pass_marker(batch(3, 7), commits=False)
    assert not aborted.has(batch(4, 7)), "its next transaction is committed"
    assert aborted.has(batch(5, 8))
    aborted.pass_marker(batch(6, 7), commits=True)
    aborted.pass_marker(batch(7, 8), commits=None)
    assert aborted.has(batch(8, 8)), "a control batch of another kind ends nothing"
    assert not aborted.has(batch(11, 7))
    assert aborted.has(batch(12, 7))
