"""Merging state batches: at each offset the most deliveries win, then the highest state."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.share_state.batches import are_in_order, combine
from ottla.coordinator.share_state.states import NO_OFFSET, StateBatch
from tests.coordinator.share_state.any_batches import (
    ACKNOWLEDGED,
    ARCHIVED,
    AVAILABLE,
    LAST,
    any_batches,
    batch,
    by_offset,
    runs,
)
from tests.counted_lines import lines_of


@given(st.lists(any_batches, max_size=4), st.lists(st.integers(-1, LAST), min_size=4, max_size=4))
def test_writes_one_after_another_leave_the_strongest_at_each_offset(
    writes: list[list[StateBatch]], starts: list[int]
) -> None:
    so_far: tuple[StateBatch, ...] = ()
    given_before: list[StateBatch] = []
    start = NO_OFFSET
    for new, next_start in zip(writes, starts, strict=False):
        start = max(start, next_start)
        so_far = combine(so_far, new, start)
        given_before += new
        assert list(so_far) == runs(by_offset(given_before, start))
        assert are_in_order(so_far)


def test_neighbours_of_the_same_kind_become_one() -> None:
    so_far = (batch(0, 4, ACKNOWLEDGED), batch(10, 14, ACKNOWLEDGED))
    assert combine(so_far, [batch(5, 9, ACKNOWLEDGED)], 0) == (batch(0, 14, ACKNOWLEDGED),)


def test_neighbours_with_other_deliveries_stay_apart() -> None:
    so_far = (batch(0, 4, ACKNOWLEDGED, 2),)
    new = [batch(5, 9, ACKNOWLEDGED)]
    assert combine(so_far, new, 0) == (batch(0, 4, ACKNOWLEDGED, 2), batch(5, 9, ACKNOWLEDGED))


def test_more_deliveries_win_over_a_higher_state() -> None:
    so_far = (batch(0, 9, ARCHIVED, 1),)
    assert combine(so_far, [batch(3, 5, AVAILABLE, 2)], 0) == (
        batch(0, 2, ARCHIVED, 1),
        batch(3, 5, AVAILABLE, 2),
        batch(6, 9, ARCHIVED, 1),
    )


def test_the_higher_state_wins_with_the_same_deliveries() -> None:
    assert combine((batch(0, 9),), [batch(0, 9, ACKNOWLEDGED)], 0) == (batch(0, 9, ACKNOWLEDGED),)


def test_batches_before_the_start_offset_are_dropped_and_cut() -> None:
    so_far = (batch(0, 4), batch(5, 9))
    assert combine(so_far, [batch(2, 3, ARCHIVED, 2)], 7) == (batch(7, 9),)
    assert combine(so_far, [batch(6, 8, ARCHIVED, 2)], 7) == (
        batch(7, 8, ARCHIVED, 2),
        batch(9, 9),
    )


def test_without_a_start_offset_everything_is_kept() -> None:
    assert combine((batch(0, 4),), [], NO_OFFSET) == (batch(0, 4),)


def test_an_empty_batch_is_left_out() -> None:
    """Kafka writes it, and then no write to the partition succeeds."""
    assert combine((batch(0, 4),), [batch(9, 8), batch(6, 6)], 0) == (batch(0, 4), batch(6, 6))


def test_an_empty_batch_and_overlaps_are_not_in_order() -> None:
    assert are_in_order((batch(0, 4), batch(5, 9)))
    assert not are_in_order((batch(3, 2),))
    assert not are_in_order((batch(0, 4), batch(4, 9)))


def test_one_more_write_to_many_batches_looks_at_few_of_them() -> None:
    class Counted(StateBatch):
        """Counts how often a batch is compared."""

        seen = 0

        def __lt__(self, other: object) -> bool:
            Counted.seen += 1
            return super().__lt__(other)  # type: ignore[operator]  # any tuple

    many = tuple(Counted(2 * each, 2 * each, ACKNOWLEDGED, 1) for each in range(10_000))
    assert len(combine(many, [batch(5001, 5001, ACKNOWLEDGED)], 0)) == 9_999
    assert Counted.seen < 20


def test_a_write_of_many_states_takes_a_few_steps_for_each() -> None:
    """A write of 50,000 alternating states over as many others held all clients up for 0.5 s."""
    few, many = 500, 2000
    assert lines_of_a_write(many) - lines_of_a_write(few) < 25 * (many - few)


def lines_of_a_write(count: int) -> int:
    """The lines of Python that run to write states that alternate over as many others."""
    so_far = tuple(batch(at, at, (AVAILABLE, ARCHIVED)[at % 2]) for at in range(count))
    new = [batch(at, at, (ACKNOWLEDGED, AVAILABLE)[at % 2], 2) for at in range(count)]
    assert combine(so_far, new, 0) == tuple(new)
    return lines_of(lambda: combine(so_far, new, 0))
