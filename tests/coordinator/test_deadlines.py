"""Deadlines by key, against a dict that is searched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.deadlines import Deadlines

keys = st.sampled_from("abcd")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), keys, st.integers(0, 20)),
        st.tuples(st.just("cancel"), keys, st.just(0)),
        st.tuples(st.just("next"), st.just(""), st.just(0)),
        st.tuples(st.just("take"), st.just(""), st.integers(0, 20)),
    ),
    max_size=60,
)


@given(steps)
def test_due_deadlines_equal_those_of_a_linear_search(steps: list[tuple[str, str, int]]) -> None:
    deadlines: Deadlines[str] = Deadlines()
    model: dict[str, int] = {}
    for step, key, time_ms in steps:
        if step == "set":
            deadlines.set(key, time_ms)
            model[key] = time_ms
        elif step == "cancel":
            deadlines.cancel(key)
            model.pop(key, None)
        elif step == "take":
            taken = list(deadlines.take_due(time_ms))
            due = {key for key, due_ms in model.items() if due_ms <= time_ms}
            assert set(taken) == due
            assert len(taken) == len(due)
            assert [model[key] for key in taken] == sorted(model[key] for key in taken)
            for key in taken:
                del model[key]
        assert deadlines.next() == min(model.values(), default=None)


def test_a_deadline_set_during_the_iteration_is_returned_if_due() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1)
    taken = []
    for key in deadlines.take_due(5):
        taken.append(key)
        if key == "a":
            deadlines.set("b", 3)
            deadlines.set("c", 6)
    assert taken == ["a", "b"]
    assert deadlines.next() == 6


def test_a_deadline_cancelled_during_the_iteration_is_not_returned() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1)
    deadlines.set("b", 1)
    for key in deadlines.take_due(5):
        assert key == "a"
        deadlines.cancel("b")


def test_postponing_a_deadline_adds_no_heap_entry() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for time_ms in range(1_000):
        deadlines.set("a", time_ms)
    assert len(deadlines._heap) == 1
