"""The batches that a producer may send next (KIP-98, KIP-360, KIP-890)."""

from __future__ import annotations

import pytest

from ottla.protocol.batch import MAX_SEQUENCE
from ottla.protocol.errors import Refused
from ottla.storage.log import PartitionLog
from tests.storage.logs import NOW_MS, batch, end_of, in_transaction, open_log, sent_by

# What producer 7 appended, and how its next batch is answered: e(poch), s(equence), n(umber of
# records), t(ransactional); C and A are markers of that epoch. Answers: an offset or an error.
CONVERSATIONS = """
  -                                   e0s0    0
  -                                   e0s7    0
  -                                   e5s3    0
  e0s0                                e0s1    1
  e0s0                                e0s2    OUT_OF_ORDER_SEQUENCE_NUMBER
  e0s0                                e0s0    0
  e0s0n3                              e0s0n2  OUT_OF_ORDER_SEQUENCE_NUMBER
  e0s0n3                              e0s0n4  OUT_OF_ORDER_SEQUENCE_NUMBER
  e0s0n3                              e0s1n3  OUT_OF_ORDER_SEQUENCE_NUMBER
  e0s0n3                              e0s0n3  0
  e0s0 e0s1 e0s2 e0s3 e0s4            e0s0    0
  e0s0 e0s1 e0s2 e0s3 e0s4 e0s5       e0s0    OUT_OF_ORDER_SEQUENCE_NUMBER
  e0s0 e0s1 e0s2 e0s3 e0s4 e0s5       e0s1    1
  e0s0                                e1s5    OUT_OF_ORDER_SEQUENCE_NUMBER
  e0s0                                e1s0    1
  e0s0 e1s0                           e0s1    INVALID_PRODUCER_EPOCH
  e0s0 e1s0                           e0s0    INVALID_PRODUCER_EPOCH
  e0s0 e1s0                           e1s1    2
  e0s0 e1s0                           e9s0    2
  e0s2147483646n2                     e0s0    2
  e0s2147483646n2                     e0s1    OUT_OF_ORDER_SEQUENCE_NUMBER
  e0s2147483646n4                     e0s2    4
  e0s2147483646n4                     e0s2147483646n4  0
  e0s0t                               e0s1    INVALID_TXN_STATE
  e0s0t                               e0s1t   1
  e0s0t                               e0s0t   0
  e0s0t C0                            e0s1    2
  e0s0t C0                            e0s0t   0
  e0s0t A0                            e0s1t   2
  e0s0t C1                            e1s1t   OUT_OF_ORDER_SEQUENCE_NUMBER
  e0s0t C1                            e1s0t   2
  e0s0t A1                            e0s1t   INVALID_PRODUCER_EPOCH
  e0s0t C0                            C0      2
  e0s0t C0                            A1      2
  e1s0t                               C0      INVALID_PRODUCER_EPOCH
  C0                                  C0      1
  C3                                  e3s0t   1
  C3                                  e2s0t   INVALID_PRODUCER_EPOCH
"""


def say(log: PartitionLog, word: str) -> int:
    """Append what a word of the table stands for; the offset it is answered with."""
    kind, epoch = word[0], int(word[1])
    if kind in "CA":
        return log.append_marker(end_of(7, commit=kind == "C", epoch=epoch), now_ms=NOW_MS)[0]
    sequence, _, count = word[3:].removesuffix("t").partition("n")
    make = in_transaction if word.endswith("t") else sent_by
    return log.append(make(7, int(sequence), int(count or 1), epoch), now_ms=NOW_MS)[0]


@pytest.mark.parametrize("line", CONVERSATIONS.strip().splitlines())
def test_a_batch_is_answered_as_the_table_says(line: str) -> None:
    *before, word, expected = line.replace("-  ", "").split()
    log = open_log()
    for earlier in before:
        say(log, earlier)
    end = log.log_end_offset
    try:
        answer = str(say(log, word))
    except Refused as refused:
        answer = refused.code.name
        assert log.log_end_offset == end, "a refusal must change nothing"
        assert (
            [str(say(log, w)) for w in before[-1:] if w[0] == "e"]
            == [
                str(log.producers.entry(7).batches[-1].first_offset)  # type: ignore[union-attr]  # another type would fail the test
                for w in before[-1:]
                if w[0] == "e"
            ]
        ), "the last batch must still be known"
    assert answer == expected


def test_producers_and_partitions_do_not_know_each_other() -> None:
    log, other = open_log(), open_log()
    assert log.append(sent_by(1, 0), now_ms=NOW_MS).base_offset == 0
    assert log.append(sent_by(2, 4), now_ms=NOW_MS).base_offset == 1
    assert other.append(sent_by(1, 9), now_ms=NOW_MS).base_offset == 0
    assert log.append(batch(), now_ms=NOW_MS).base_offset == 2


def test_a_marker_of_an_older_coordinator_is_fenced(log: PartitionLog) -> None:
    log.append(in_transaction(7, 0), now_ms=NOW_MS)
    log.append_marker(end_of(7, commit=True, coordinator_epoch=5), now_ms=NOW_MS)
    with pytest.raises(Refused, match="TRANSACTION_COORDINATOR_FENCED"):
        log.append_marker(end_of(7, commit=True, coordinator_epoch=4), now_ms=NOW_MS)
    assert log.append_marker(end_of(7, commit=True, coordinator_epoch=5), now_ms=NOW_MS)[0] == 2


def test_a_producer_is_described_with_its_transaction(log: PartitionLog) -> None:
    log.append(in_transaction(7, 0, 3), now_ms=NOW_MS)

    def described() -> tuple[int, ...]:
        (entry,) = log.producers.producers()
        return (
            entry.producer_id, entry.producer_epoch, entry.last_sequence, entry.coordinator_epoch,
            entry.transaction_first_offset, entry.last_timestamp_ms,
        )  # fmt: skip

    assert described() == (7, 0, 2, -1, 0, NOW_MS)
    assert log.producers.has_ongoing_transaction(7)
    log.append_marker(end_of(7, commit=True), now_ms=NOW_MS)
    assert described() == (7, 0, 2, 0, -1, NOW_MS)
    assert not log.producers.has_ongoing_transaction(7)
    log.append_marker(end_of(7, commit=True, epoch=1), now_ms=NOW_MS)
    assert described() == (7, 1, -1, 0, -1, NOW_MS)


def test_sequences_wrap_inside_a_batch(log: PartitionLog) -> None:
    log.append(sent_by(7, MAX_SEQUENCE - 1, 4), now_ms=NOW_MS)
    assert log.producers.entry(7).last_sequence == 1  # type: ignore[union-attr]  # another type would fail the test
