"""One decision of the driver each: the view, and the action that follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ottla.spark.exactly_once.decisions import (
    Describe,
    End,
    Fail,
    Fence,
    Finish,
    ReadLog,
    View,
    Write,
    WriteDifference,
    next_action,
)
from ottla.spark.exactly_once.tasks import (
    TASKS_IN_A_RECORD,
    DecidedBatch,
    Span,
    Task,
    TransactionKey,
    batch_of,
    committed,
    records_of,
    row_digest,
    sum_of,
)
from ottla.spark.exactly_once.transaction_fates import (
    LAST_EPOCH,
    Described,
    TransactionFate,
    fate_of,
)


def task(name: str, digest: int = 1) -> Task:
    return Task(TransactionKey(name, 7, 3), 0, 1, digest, (Span("out", 0, 4, 9),))


A, B = task("a", 1), task("b", 2)
NEW_A, NEW_B = task("new-a", 1), task("new-b", 2)


def view(logged: DecidedBatch | None = None, *reported: Task, **fates: TransactionFate) -> View:
    known = {TransactionKey(name.replace("_", "-"), 7, 3): fate for name, fate in fates.items()}
    return View("q", 5, reported, logged, margin_ms=10, fates=known, least_left_ms=10)


def decided(*tasks: Task, number: int = 1) -> DecidedBatch:
    return DecidedBatch("q", 5, tasks, round=number)


OPEN, COMMITTED, ABORTED, UNKNOWN = (
    TransactionFate.OPEN,
    TransactionFate.COMMITTED,
    TransactionFate.ABORTED,
    TransactionFate.UNKNOWN,
)


@pytest.mark.parametrize(
    ("given", "action"),
    [
        (view(None, A, B), Describe((A, B))),
        (view(None, A, B, a=OPEN, b=OPEN), Write(decided(A, B))),
        (view(None), Write(decided())),
        (view(DecidedBatch("q", 4, (B,), is_done=True), A, a=OPEN), Write(decided(A))),
        (view(None, A, B, a=OPEN, b=ABORTED), Fence((A, B), sweeps=False)),
        (view(decided(A, B)), Describe((A, B))),
        (view(decided(A, B), a=OPEN, b=COMMITTED), End((A,))),
        (view(decided(A), a=COMMITTED), Write(decided(A).done())),
        (view(decided(A).done(), A), Fence((), sweeps=True)),
        (view(decided(A).done(), NEW_A), Fence((NEW_A,), sweeps=True)),
        (view(decided(A, B), a=COMMITTED, b=ABORTED), ReadLog((B,))),
        (view(decided(A, B), a=COMMITTED, b=UNKNOWN), ReadLog((B,))),
    ],
)
def test_the_next_action(given: View, action: object) -> None:
    assert next_action(given) == action


def test_a_transaction_that_times_out_soon_is_not_decided() -> None:
    late = replace(view(None, A, a=OPEN), least_left_ms=9)
    assert next_action(late) == Fence((A,), sweeps=False)
    failed = next_action(replace(late, is_fenced=True))
    assert isinstance(failed, Fail)
    assert failed.replay_helps
    assert "9 ms" in failed.reason


def test_a_replaced_driver_aborts_its_transactions_and_fails() -> None:
    later = view(DecidedBatch("q", 6, (B,)), A)
    assert next_action(later) == Fence((A,), sweeps=False)
    failed = next_action(replace(later, is_fenced=True))
    assert isinstance(failed, Fail)
    assert not failed.replay_helps


def test_a_finished_batch_ends_after_the_fences() -> None:
    assert next_action(replace(view(decided(A).done(), NEW_A), is_fenced=True)) == Finish()


def test_a_repeat_whose_topic_was_made_again_is_an_error() -> None:
    logged = replace(decided(A), topic_ids={"out": "first"}).done()
    given = replace(view(logged, NEW_A), is_fenced=True)
    failed = next_action(replace(given, topic_ids={"out": "second"}))
    assert isinstance(failed, Fail)
    assert not failed.replay_helps
    assert "topic out was deleted and made again" in failed.reason
    for ids in ({"out": "first"}, {}):  # the same, or not known
        assert next_action(replace(given, topic_ids=ids)) == Finish()


def test_a_repeat_with_other_rows_is_an_error_that_names_both() -> None:
    other = task("other", 7)
    given = view(decided(A).done(), other)
    assert next_action(given) == Fence((other,), sweeps=False)
    failed = next_action(replace(given, is_fenced=True))
    assert isinstance(failed, Fail)
    assert not failed.replay_helps
    for digest in (1, 7):
        assert f"1 rows in out (digest {digest:032x})" in failed.reason


@pytest.mark.parametrize("other", ["q/2", "q/2/0", "q/", "/q", "", "q-q"])
def test_a_batch_is_found_by_the_whole_name_of_its_query(other: str) -> None:
    own, foreign = DecidedBatch("q", 5, (A,), is_done=True), DecidedBatch(other, 6, (B,))
    records: list[tuple[bytes, bytes | None]] = [*records_of(own), *records_of(foreign)]
    assert batch_of("q", records) == own
    assert batch_of(other, records) == foreign


def lost_in_part(*reported: Task, **fates: TransactionFate) -> View:
    given = view(decided(A, B), *reported, a=COMMITTED, b=ABORTED, **fates)
    return replace(given, log_fates={B.transaction: ABORTED})


def test_the_replay_replaces_a_lost_transaction() -> None:
    assert next_action(lost_in_part(NEW_B, NEW_A)) == Describe((NEW_B,))
    action = next_action(lost_in_part(NEW_B, NEW_A, new_b=OPEN))
    assert action == Write(decided(*committed([A]), NEW_B, number=2))


def test_rows_in_other_tasks_make_a_difference_to_write() -> None:
    mixed = (task("m", 3),)
    assert next_action(lost_in_part(*mixed)) == WriteDifference(committed([A]), mixed)
    difference = task("d", 2)
    written = replace(lost_in_part(*mixed, d=OPEN), difference=difference)
    assert next_action(written) == Write(decided(*committed([A]), difference, number=2))


def test_the_tasks_of_the_decision_itself_do_not_replace_its_lost_ones() -> None:
    failed = next_action(replace(lost_in_part(A, B), is_fenced=True))
    assert isinstance(failed, Fail)
    assert failed.replay_helps


def test_a_replay_with_other_rows_is_refused() -> None:
    failed = next_action(replace(lost_in_part(NEW_A), is_fenced=True))
    assert isinstance(failed, Fail)
    assert not failed.replay_helps
    assert "other rows" in failed.reason


@pytest.mark.parametrize(
    ("epoch", "described", "fate"),
    [
        (3, Described("Ongoing", 7, 3), OPEN),
        (3, Described("PrepareCommit", 7, 3), COMMITTED),
        (3, Described("CompleteCommit", 7, 3), COMMITTED),  # EndTxn 4
        (3, Described("CompleteCommit", 7, 4), COMMITTED),  # EndTxn 5
        (LAST_EPOCH, Described("CompleteCommit", 8, 0), COMMITTED),  # EndTxn 5, a new producer id
        (3, Described("CompleteCommit", 8, 0), UNKNOWN),
        (3, Described("CompleteCommit", 7, 5), UNKNOWN),
        (3, Described("CompleteAbort", 7, 4), ABORTED),  # the timeout
        (LAST_EPOCH, Described("CompleteAbort", 7, LAST_EPOCH + 1), ABORTED),
        (3, Described("Ongoing", 7, 4), UNKNOWN),
        (3, Described("Empty", 7, 4), UNKNOWN),
        (3, None, UNKNOWN),
    ],
)
def test_the_fate_of_a_transaction(
    epoch: int, described: Described | None, fate: TransactionFate
) -> None:
    assert fate_of(TransactionKey("a", 7, epoch), described) is fate


def test_a_batch_is_read_back_and_a_smaller_one_replaces_it() -> None:
    many = tuple(task(f"t{number}", number) for number in range(2 * TASKS_IN_A_RECORD + 1))
    large, small = DecidedBatch("q", 5, many, round=2), DecidedBatch("q", 6, (A,), is_done=True)
    assert len([*records_of(large)]) == 3
    records: list[tuple[bytes, bytes | None]] = [
        *records_of(large),
        *records_of(DecidedBatch("r", 9, ())),
    ]
    assert batch_of("q", records) == large
    assert batch_of("q", [*records, *records_of(small)]) == small
    assert batch_of("other", records) is None


def test_a_batch_without_a_piece_is_refused() -> None:
    many = tuple(task(f"t{number}") for number in range(TASKS_IN_A_RECORD + 1))
    records = [*records_of(DecidedBatch("q", 5, many))]
    with pytest.raises(ValueError, match="lacks a part"):
        batch_of("q", records[1:])


def test_the_digest_distinguishes_rows_and_ignores_their_order() -> None:
    rows = [
        ("t", None, b"v"), ("t", b"", b"v"), ("t", b"v", None), ("tv", None, None),
        ("t", b"k", b"v"), ("t", b"kv", b""),
    ]  # fmt: skip
    digests = [row_digest(*row) for row in rows]
    digests.append(row_digest("t", b"k", b"v", [("name", None)]))
    digests.append(row_digest("t", b"k", b"v", [("name", b"")]))
    assert len(set(digests)) == len(digests)
    assert sum_of(digests) == sum_of(reversed(digests)) != sum_of(digests[1:])
