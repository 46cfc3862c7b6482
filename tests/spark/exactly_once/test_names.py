"""Transactional ids of the sink: each belongs to one query, whatever users call their writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ottla.spark.exactly_once.names import driver_id, is_task_of, task_id

RUN = "0123456789abcdef" * 2
QUERY_OF_SPARK = "0f3a9f4e-1c2d-4b5a-8e9f-001122334455"
NAMES = st.text(st.sampled_from("ab-/%_.0123"), min_size=1, max_size=6)
TASKS = st.tuples(st.integers(-1, 200), st.integers(0, 9))


@given(NAMES, NAMES, TASKS)
def test_an_id_belongs_to_one_name(own: str, other: str, at: tuple[int, int]) -> None:
    name = task_id("sink", own, RUN, *at)
    assert is_task_of(name, "sink", own)
    assert is_task_of(name, "sink", other) is (own == other)
    assert not is_task_of(driver_id("sink", own), "sink", own)


@given(st.tuples(NAMES, NAMES), st.tuples(NAMES, NAMES))
def test_prefix_and_name_together_make_an_id(own: tuple[str, str], other: tuple[str, str]) -> None:
    assert (driver_id(*own) == driver_id(*other)) is (own == other)


def test_ids_of_earlier_versions_are_found_whole() -> None:
    assert is_task_of(f"sink-orders-eu-{RUN}-0-1", "sink", "orders-eu")
    assert not is_task_of(f"sink-orders-eu-{RUN}-0-1", "sink", "orders")
    assert task_id("sink", QUERY_OF_SPARK, RUN, -1, 0) == f"sink-{QUERY_OF_SPARK}-{RUN}--1-0"
    assert is_task_of(f"sink-{QUERY_OF_SPARK}-{RUN}--1-0", "sink", QUERY_OF_SPARK)
