"""State batches at random, and what they say of each offset."""

from __future__ import annotations

from hypothesis import strategies as st

from ottla.coordinator.share_state.states import StateBatch

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4
LAST = 40


def batch(first: int, last: int, state: int = AVAILABLE, count: int = 1) -> StateBatch:
    return StateBatch(first, last, state, count)


offsets = st.integers(0, LAST)
any_batch = st.builds(
    lambda first, length, state, count: batch(first, first + length, state, count),
    offsets,
    st.integers(0, 12),
    st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]),
    st.integers(1, 3),
)
any_batches = st.lists(any_batch, max_size=6)


def by_offset(batches: list[StateBatch], start_offset: int) -> dict[int, tuple[int, int]]:
    """The strongest deliveries and state at each offset."""
    found: dict[int, tuple[int, int]] = {}
    for first, last, state, count in batches:
        for offset in range(max(first, start_offset), last + 1):
            found[offset] = max(found.get(offset, (0, 0)), (count, state))
    return found


def runs(found: dict[int, tuple[int, int]]) -> list[StateBatch]:
    """The fewest batches that say so."""
    out: list[StateBatch] = []
    for offset in sorted(found):
        count, state = found[offset]
        if out and out[-1].last_offset == offset - 1 and out[-1][2:] == (state, count):
            out[-1] = out[-1]._replace(last_offset=offset)
        else:
            out.append(batch(offset, offset, state, count))
    return out
