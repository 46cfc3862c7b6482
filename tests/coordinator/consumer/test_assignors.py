"""The assignors of consumer groups: fair, sticky, and the same as Kafka's."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.consumer.assignment import Assigned, Spec
from ottla.coordinator.consumer.assignors import ASSIGNORS, assign_range
from ottla.coordinator.consumer.member import Assignment
from ottla.coordinator.java_order import (
    ids_in_order,
    in_timeline_table,
    members_in_order,
    partitions_in_order,
)

TOPICS = [uuid.UUID(int=number << 64 | number) for number in range(1, 4)]


# What Java 17 printed: members put into a TimelineHashMap, and from there into a HashMap ...
MEMBERS_IN_ORDER = [
    f"member-{number}"
    for number in (19, 18, 17, 16, 15, 5, 14, 6, 13, 3, 12, 4, 11, 9, 10, 7, 8, 1, 2, 0)
]
# ... and a HashSet made from a list.
IDS_IN_ORDER = [
    "154de301-afca-c4e5-edc2-6f161bfba4ce",
    "85c8a30a-9849-6cb6-1a64-d9ffee20a422",
    "bb0f1798-a377-3418-bfc9-945a02770b39",
    "c54c61ed-9f02-4ba7-384e-818eb69539d9",
    "b54b1904-91b3-ca5d-5a17-15fff3e147a1",
    "644c17a3-c64d-14b5-d5c2-3197dcc7f8e9",
    "a440e265-1db3-44e9-c8e6-0506bdf81cb7",
    "4121c8e0-996d-a4a6-61f4-4c359fc917b3",
    "1a7850ea-f964-43e0-70f3-a3b34779ab7e",
    "1ee88ee9-40ae-7fdf-d993-e7beb252edfc",
    "96c697fb-b258-3069-7914-dd2d973295f1",
    "5021aa93-d791-7884-dddd-a85caf3464c4",
    "592ad309-7d98-4a5d-e5b3-f440be1a4792",
    "98ec8999-16e4-0159-bf8f-c3c9002ae27a",
]


def spec(
    members: Mapping[str, frozenset[uuid.UUID]],
    counts: Mapping[uuid.UUID, int],
    targets: Mapping[str, Assignment] | None = None,
) -> Spec:
    """The group's arguments for an assignor."""
    targets = targets or {}
    owners: dict[uuid.UUID, dict[int, str]] = {}
    for member_id, target in targets.items():
        for topic_id, indexes in target.items():
            owners.setdefault(topic_id, {}).update(dict.fromkeys(indexes, member_id))
    return Spec(
        {member_id: members[member_id] & counts.keys() for member_id in members_in_order(members)},
        counts,
        len(set(members.values())) <= 1,
        targets,
        owners,
    )


def sizes(assigned: Assigned, members: Iterable[str]) -> list[int]:
    return [sum(map(len, assigned.get(member_id, {}).values())) for member_id in members]


counts = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9))
member_ids = st.lists(
    st.text("abcdef", min_size=1, max_size=4), min_size=1, max_size=7, unique=True
)
wishes = st.sets(st.sampled_from(TOPICS)).map(frozenset)


@st.composite
def groups(
    draw: st.DrawFn, *, alike: bool
) -> tuple[dict[str, frozenset[uuid.UUID]], dict[uuid.UUID, int]]:
    ids = draw(member_ids)
    if alike:
        return dict.fromkeys(ids, draw(wishes)), draw(counts)
    return {member_id: draw(wishes) for member_id in ids}, draw(counts)


@pytest.mark.parametrize("name", ASSIGNORS)
@given(group=groups(alike=True) | groups(alike=False))
def test_each_subscribed_partition_is_assigned_to_one_subscriber(
    name: str, group: tuple[dict[str, frozenset[uuid.UUID]], dict[uuid.UUID, int]]
) -> None:
    members, partition_counts = group
    assigned = ASSIGNORS[name](spec(members, partition_counts))
    given_out: Counter[tuple[uuid.UUID, int]] = Counter()
    for member_id, mine in assigned.items():
        for topic_id, indexes in mine.items():
            assert topic_id in members[member_id]
            assert indexes, "no topic is there without partitions"
            given_out.update((topic_id, index) for index in indexes)
    wanted = frozenset().union(*members.values())
    assert given_out == {
        (topic_id, index): 1
        for topic_id, count in partition_counts.items()
        if topic_id in wanted
        for index in range(count)
    }


@given(
    group=groups(alike=True), joins=st.lists(st.text("xyz", min_size=1, max_size=3), unique=True)
)
def test_uniform_is_fair_and_moves_no_more_than_it_has_to(
    group: tuple[dict[str, frozenset[uuid.UUID]], dict[uuid.UUID, int]], joins: list[str]
) -> None:
    members, partition_counts = group
    assign = ASSIGNORS["uniform"]
    before = assign(spec(members, partition_counts))
    wish = next(iter(members.values()))
    after_members = {**members, **dict.fromkeys(joins, wish)}
    after = assign(spec(after_members, partition_counts, before))
    loads = sizes(after, after_members)
    assert max(loads) - min(loads) <= 1
    kept = sum(
        len(indexes & after.get(member_id, {}).get(topic_id, frozenset()))
        for member_id, mine in before.items()
        for topic_id, indexes in mine.items()
    )
    moved = sum(sizes(before, members)) - kept
    assert moved <= sum(sizes(after, joins)), "only newcomers take from others"


@given(group=groups(alike=False))
def test_uniform_comes_to_rest(
    group: tuple[dict[str, frozenset[uuid.UUID]], dict[uuid.UUID, int]],
) -> None:
    """A second run gives the same assignment."""
    members, partition_counts = group
    assign = ASSIGNORS["uniform"]
    target = assign(spec(members, partition_counts))
    for _ in range(8):
        again = assign(spec(members, partition_counts, target))
        if again == target:
            return
        target = again
    pytest.fail("it never comes to rest")


def test_members_with_less_choice_get_partitions_that_only_they_subscribe_to() -> None:
    orders, stock, _ = TOPICS
    members = {"a": frozenset({orders}), "b": frozenset({orders, stock})}
    assigned = ASSIGNORS["uniform"](spec(members, {orders: 4, stock: 2}))
    assert sizes(assigned, members) == [3, 3]
    assert assigned["b"][stock] == {0, 1}


def test_uniform_balances_a_lopsided_assignment() -> None:
    orders, stock, _ = TOPICS
    members = {"a": frozenset({orders, stock}), "b": frozenset({orders}), "c": frozenset({orders})}
    counts = {orders: 9, stock: 1}
    lopsided = {"a": {orders: frozenset(range(9)), stock: frozenset({0})}, "b": {}, "c": {}}
    assigned = ASSIGNORS["uniform"](spec(members, counts, lopsided))
    assert sorted(sizes(assigned, members)) == [3, 3, 4]


def test_ranges_lie_side_by_side_for_topics_of_the_same_size() -> None:
    orders, stock, _ = TOPICS
    wish = frozenset({orders, stock})
    assigned = assign_range(spec({"b": wish, "a": wish}, {orders: 5, stock: 5}))
    assert assigned["a"] == {orders: {0, 1, 2}, stock: {0, 1, 2}}
    assert assigned["b"] == {orders: {3, 4}, stock: {3, 4}}


def test_more_members_than_partitions_leave_some_with_nothing() -> None:
    orders = TOPICS[0]
    members = dict.fromkeys("abc", frozenset({orders}))
    for assign in ASSIGNORS.values():
        assert sorted(sizes(assign(spec(members, {orders: 2})), members)) == [0, 1, 1]


def test_an_empty_spec_gives_an_empty_assignment() -> None:
    for assign in ASSIGNORS.values():
        assert assign(spec({}, {})) == {}


def test_keys_come_in_the_order_of_javas_tables() -> None:
    """As java.util.HashMap and HashSet of Java 17 list these keys."""
    assert in_timeline_table(["uniform", "range"]) == ["uniform", "range"]
    assert in_timeline_table(["range", "uniform"]) == ["uniform", "range"]
    assert partitions_in_order({17, 3, 0, 16, 33}) == [0, 16, 17, 33, 3]
    assert members_in_order(["b", "a"], ["c"]) == ["a", "b", "c"]
    members = [f"member-{number}" for number in range(20)]
    assert members_in_order(members) == MEMBERS_IN_ORDER
    ids = [uuid.UUID(text) for text in IDS_IN_ORDER]
    assert ids_in_order(ids[3:] + ids[:3]) == ids


def test_an_odd_partition_stays_with_its_owner() -> None:
    """A newcomer that comes first in the order does not take it."""
    orders = TOPICS[0]
    members = dict.fromkeys("ab", frozenset({orders}))
    before: dict[str, Assignment] = {"b": {orders: frozenset({0, 1})}}
    assigned = ASSIGNORS["uniform"](spec(members, {orders: 3}, before))
    assert assigned == {"a": {orders: {2}}, "b": {orders: {0, 1}}}
