"""The sticky assignor of streams groups: balance, stickiness, standbys."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ottla.coordinator.java_order import LeastFirst, names_in_order
from ottla.coordinator.streams.assignor import AssignedMember, Spec, assign_sticky
from ottla.coordinator.streams.member import TasksTuple

KAFKAS = json.loads(Path(__file__).with_name("kafka_assignments.json").read_text())


def member(
    process_id: str, active: Mapping[str, set[int]] | None = None, **standby: set[int]
) -> AssignedMember:
    return AssignedMember(
        process_id, active or {}, {each: frozenset(standby[each]) for each in standby}, {}
    )


def spec(members: Mapping[str, AssignedMember], standbys: int = 0, **counts: int) -> Spec:
    return Spec(members, counts, frozenset(counts), standbys)


def running(assigned: Mapping[str, TasksTuple]) -> Counter[tuple[str, int]]:
    """How often each task runs."""
    return Counter(
        (s, p) for tasks in assigned.values() for s, ps in tasks.active.items() for p in ps
    )


def loads(assigned: Mapping[str, TasksTuple]) -> list[int]:
    return sorted(sum(map(len, tasks.active.values())) for tasks in assigned.values())


def test_each_task_runs_once_and_members_get_as_many() -> None:
    assigned = assign_sticky(spec({each: member(each) for each in "abc"}, s=5, t=5))
    tasks = Counter(
        (s, p) for each in assigned.values() for s, ps in each.active.items() for p in ps
    )
    assert tasks == Counter({(s, p): 1 for s in "st" for p in range(5)})
    assert loads(assigned) == [3, 3, 4]


def test_tasks_stay_where_they_are() -> None:
    before = {"a": member("a", {"s": {0, 3}}), "b": member("b", {"s": {1, 2}})}
    assigned = assign_sticky(spec(before, s=4))
    assert {each: set(assigned[each].active["s"]) for each in assigned} == {
        "a": {0, 3},
        "b": {1, 2},
    }
    more = assign_sticky(spec({**before, "c": member("c")}, s=4))
    for each in "ab":
        assert more[each].active["s"] <= assigned[each].active["s"]
    assert loads(more) == [1, 1, 2]


def test_a_task_goes_to_a_member_with_its_state() -> None:
    members = {"a": member("a"), "b": member("b", s={0}), "c": member("c")}
    assert assign_sticky(spec(members, standbys=1, s=1))["b"].active == {"s": {0}}
    offsets = {
        each: AssignedMember(each, {}, {}, {"s": {0: at}}) for each, at in (("a", 5), ("b", 9))
    }
    assert assign_sticky(spec(offsets, s=1))["b"].active == {"s": {0}}, "it is further"


def test_a_standby_is_never_in_the_process_of_its_task() -> None:
    members = {f"{process}{thread}": member(process) for process in "pq" for thread in range(2)}
    assigned = assign_sticky(spec(members, standbys=2, s=4))
    for process in "pq":
        own = [tasks for each, tasks in assigned.items() if each.startswith(process)]
        active = [p for tasks in own for p in tasks.active.get("s", ())]
        standby = [p for tasks in own for p in tasks.standby.get("s", ())]
        assert not set(active) & set(standby)
        assert sorted(active + standby) == [0, 1, 2, 3], "there is no place for a second one"


def test_stateless_subtopologies_have_no_standbys() -> None:
    members = {each: member(each) for each in "ab"}
    assigned = assign_sticky(Spec(members, {"s": 2}, frozenset(), 1))
    assert [tasks.standby for tasks in assigned.values()] == [{}, {}]


@pytest.mark.parametrize("seed", range(30))
def test_any_assignment_is_complete_balanced_and_stable(seed: int) -> None:
    chance = Random(seed)
    members = {f"m{i}": member(f"p{chance.randrange(4)}") for i in range(chance.randint(1, 7))}
    counts = {f"s{i}": chance.randint(1, 6) for i in range(chance.randint(1, 3))}
    standbys = chance.randint(0, 2)
    assigned = assign_sticky(spec(members, standbys, **counts))
    assert running(assigned) == Counter(
        {(s, p): 1 for s, count in counts.items() for p in range(count)}
    )
    again = {
        each: AssignedMember(members[each].process_id, tasks.active, tasks.standby, {})
        for each, tasks in assigned.items()
    }
    settled = assign_sticky(spec(again, standbys, **counts))
    assert {each: t.active for each, t in settled.items()} == {
        each: t.active for each, t in assigned.items()
    }


@pytest.mark.parametrize("case", KAFKAS)
def test_assignments_are_those_of_kafka(case: dict[str, Any]) -> None:
    """Of StickyTaskAssignor of Kafka 4.4.0, for random groups."""
    given = {each["id"]: each for each in case["members"]}
    members = {
        each: AssignedMember(
            given[each]["process"],
            given[each]["active"],
            {s: frozenset(partitions) for s, partitions in given[each]["standby"].items()},
            {s: dict(offsets) for s, offsets in given[each]["offsets"].items()},
        )
        for each in names_in_order(given)
    }
    counts = dict(sorted(case["counts"].items()))
    assigned = assign_sticky(Spec(members, counts, frozenset(case["stateful"]), case["standbys"]))
    assert case["assigned"] == {
        each: {
            "active": {s: sorted(partitions) for s, partitions in tasks.active.items()},
            "standby": {s: sorted(partitions) for s, partitions in tasks.standby.items()},
        }
        for each, tasks in assigned.items()
    }


def test_a_queue_gives_the_least_item_and_keeps_the_order_of_java_among_equals() -> None:
    items = ["b1", "a1", "b2", "a2", "a3", "c1", "b3", "a4"]
    queue: LeastFirst[str] = LeastFirst(lambda text: ord(text[0]), items)
    taken = [queue.take() for _ in items]
    assert taken == ["a1", "a2", "a4", "a3", "b3", "b1", "b2", "c1"]
    assert not len(queue)
