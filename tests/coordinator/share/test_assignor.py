"""The `simple` assignor of share groups, as Kafka 4.4's SimpleAssignor assigns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.coordinator.consumer.member import Assignment
from ottla.coordinator.share.assignor import Spec, assign

T, U = UUID(int=1), UUID(int=2)


def members(count: int) -> list[str]:
    return [f"m{number}" for number in range(count)]


def given_to(spec: Spec) -> dict[str, list[tuple[int, int]]]:
    """The topics' numbers and partitions of each member."""
    return {
        member_id: sorted((topic.int, index) for topic, found in mine.items() for index in found)
        for member_id, mine in assign(spec).items()
    }


def of_one_topic(
    count: int, partitions: int, targets: Mapping[str, Assignment] | None = None
) -> list[list[int]]:
    spec = Spec({each: [T] for each in members(count)}, {T: range(partitions)}, targets or {})
    return [[index for _, index in mine] for mine in given_to(spec).values()]


@pytest.mark.parametrize(
    ("count", "partitions", "expected"),
    [
        (1, 3, [[0, 1, 2]]),
        (2, 2, [[0], [1]]),
        (2, 4, [[0, 2], [1, 3]]),
        (2, 3, [[0, 2], [1]]),
        (2, 1, [[0], [0]]),
        (3, 2, [[0, 1], [0], [1]]),
        (4, 2, [[0], [0], [1], [1]]),
        (3, 0, [[], [], []]),
    ],
)
def test_partitions_are_spread_over_members_and_members_over_partitions(
    count: int, partitions: int, expected: list[list[int]]
) -> None:
    found = of_one_topic(count, partitions)
    assert sorted(map(len, found)) == sorted(map(len, expected))
    shared = Counter(index for mine in found for index in mine)
    assert shared == Counter(index for mine in expected for index in mine)


def test_a_second_member_takes_the_surplus_of_the_first() -> None:
    first = {"m0": {T: frozenset(range(4))}}
    found = of_one_topic(2, 4, first)
    assert [len(mine) for mine in found] == [2, 2]
    assert sorted(found[0] + found[1]) == [0, 1, 2, 3]


def test_members_keep_their_partitions_when_nothing_changes() -> None:
    spec = Spec({each: [T] for each in members(3)}, {T: range(5)})
    first = assign(spec)
    again = assign(Spec(spec.members, spec.partitions, first))
    assert again == first


def test_partitions_without_share_state_are_not_assigned() -> None:
    spec = Spec({"m0": [T, U]}, {T: [1], U: []}, {"m0": {U: frozenset({0})}})
    assert given_to(spec) == {"m0": [(1, 1)]}


def test_members_with_different_topics_share_each_topic_by_itself() -> None:
    spec = Spec(
        {"m0": [T], "m1": [U], "m2": [T, U]}, {T: range(2), U: range(2)}, is_homogeneous=False
    )
    found = given_to(spec)
    assert {topic for topic, _ in found["m0"]} == {1}
    assert {topic for topic, _ in found["m1"]} == {2}
    assert [topic for topic, _ in found["m2"]] == [1, 2]
    assert sum(map(len, found.values())) == 4, "no partition is shared"


def test_a_member_loses_topics_that_it_no_longer_subscribes_to() -> None:
    targets = {"m0": {T: frozenset({0}), U: frozenset({0})}}
    spec = Spec({"m0": [T], "m1": [U]}, {T: [0], U: [0]}, targets, is_homogeneous=False)
    assert given_to(spec) == {"m0": [(1, 0)], "m1": [(2, 0)]}


topics_of = st.lists(st.sampled_from([(T,), (U,), (T, U)]), min_size=1, max_size=7)


@given(topics_of, st.integers(1, 6), st.integers(1, 6))
def test_every_partition_is_assigned_and_only_to_subscribers(
    subscriptions: list[tuple[UUID, ...]], of_t: int, of_u: int
) -> None:
    spec = Spec(
        {f"m{number}": list(topics) for number, topics in enumerate(subscriptions)},
        {T: range(of_t), U: range(of_u)},
        is_homogeneous=len(set(subscriptions)) == 1,
    )
    # Twice, as a group does when a member has joined: the second time with what members have.
    for targets in ({}, assign(Spec(spec.members, {T: range(1), U: range(1)}))):
        found = assign(Spec(spec.members, spec.partitions, targets, spec.is_homogeneous))
        for member_id, topics in spec.members.items():
            assert found[member_id].keys() <= set(topics)
        wanted = {
            (topic, index)
            for topic, count in ((T, of_t), (U, of_u))
            if any(topic in each for each in subscriptions)
            for index in range(count)
        }
        assert wanted == {
            (topic, index)
            for mine in found.values()
            for topic, indexes in mine.items()
            for index in indexes
        }


def test_members_of_one_topic_never_differ_by_more_than_one_partition() -> None:
    for count, partitions in product(range(1, 9), range(1, 9)):
        sizes = [len(mine) for mine in of_one_topic(count, partitions)]
        assert max(sizes) - min(sizes) <= 1, (count, partitions)
