"""The next step of a member of a streams group, also when tasks change their roles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ottla.coordinator.modern_groups import MemberState
from ottla.coordinator.streams.holders import Holders
from ottla.coordinator.streams.member import (
    NO_TASKS,
    StreamsMember,
    TasksTuple,
    TasksTupleWithEpochs,
)
from ottla.coordinator.streams.reconcile import reconciled
from ottla.protocol.errors import Code, Refused

STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE, MemberState.UNREVOKED, MemberState.UNRELEASED,
)  # fmt: skip


def tasks(active: str = "", standby: str = "", warmup: str = "") -> TasksTuple:
    """Tasks of the subtopology `s`; each letter is a partition."""
    return TasksTuple(
        *({"s": frozenset(map(int, each))} if each else {} for each in (active, standby, warmup))
    )


def held(active: str = "", standby: str = "", warmup: str = "") -> TasksTupleWithEpochs:
    """The same, got in epoch 4."""
    roles = tasks(active, standby, warmup)
    epochs = {each: dict.fromkeys(partitions, 4) for each, partitions in roles.active.items()}
    return TasksTupleWithEpochs(epochs, roles.standby, roles.warmup)


def a_member(
    assigned: TasksTupleWithEpochs, member_id: str = "m", process_id: str = "p"
) -> StreamsMember:
    return StreamsMember(member_id, 5, 4, process_id=process_id, assigned=assigned)


def step(
    member: StreamsMember,
    target: TasksTuple,
    *others: StreamsMember,
    owned: TasksTuple | None = None,
) -> StreamsMember:
    """One step to the target of epoch 7; without `owned` the member owns what it has."""
    holders = Holders()
    for each in (member, *others):
        holders.add(each)
    if owned is None:
        owned = member.assigned.without_epochs
    return reconciled(member, target, 7, owned=owned, holders=holders)


def parts(member: StreamsMember) -> tuple[str, ...]:
    """The assigned partitions by role."""
    roles = member.assigned.without_epochs
    return tuple("".join(map(str, sorted(role.get("s", ())))) for role in roles)


def test_tasks_are_given_up_before_the_epoch_changes() -> None:
    member = step(a_member(held("01")), tasks("1"))
    assert (member.state, member.member_epoch, parts(member)) == (UNREVOKED, 5, ("1", "", ""))
    assert member.pending_revocation == held("0")
    assert step(member, tasks("1"), owned=tasks("01")) is member
    done = step(member, tasks("1"), owned=tasks("1"))
    assert (done.state, done.member_epoch, parts(done)) == (STABLE, 7, ("1", "", ""))
    assert done.assigned.active["s"] == {1: 4}, "it has had the task since"


def test_a_task_of_another_member_is_given_once_it_is_free() -> None:
    other = a_member(held("0"), "o", process_id="q")
    member = step(a_member(held("1")), tasks("01"), other)
    assert (member.state, member.member_epoch, parts(member)) == (UNRELEASED, 7, ("1", "", ""))
    free = step(member, tasks("01"))
    assert (free.state, free.assigned.active["s"]) == (STABLE, {0: 7, 1: 4})


def test_an_active_task_becomes_a_standby_at_once_but_is_given_up() -> None:
    member = step(a_member(held("0")), tasks(standby="0"))
    assert (member.state, parts(member)) == (UNREVOKED, ("", "0", ""))
    assert member.pending_revocation == held("0")
    done = step(member, tasks(standby="0"), owned=tasks(standby="0"))
    assert (done.state, parts(done)) == (STABLE, ("", "0", ""))


def test_a_standby_stays_one_until_its_task_is_free() -> None:
    other = a_member(held("0"), "o", process_id="q")
    member = step(a_member(held(standby="0")), tasks("0"), other)
    assert (member.state, parts(member)) == (UNRELEASED, ("", "0", ""))
    assert parts(step(member, tasks("0"))) == ("0", "", "")


@pytest.mark.parametrize(
    ("before", "target"),
    [(held(standby="0"), tasks(warmup="0")), (held(warmup="0"), tasks(standby="0"))],
)
def test_a_standby_and_a_warmup_change_into_each_other_at_once(
    before: TasksTupleWithEpochs, target: TasksTuple
) -> None:
    member = step(a_member(before), target)
    assert (member.state, member.assigned.without_epochs) == (STABLE, target)


@pytest.mark.parametrize("target", [tasks("0"), tasks(standby="0"), tasks(warmup="0")])
@pytest.mark.parametrize("has", [held("0"), held(standby="0"), held(warmup="0")])
def test_no_two_members_of_a_process_have_the_same_task(
    target: TasksTuple, has: TasksTupleWithEpochs
) -> None:
    other = a_member(has, "o")
    member = step(a_member(TasksTupleWithEpochs()), target, other)
    assert (member.state, parts(member)) == (UNRELEASED, ("", "", ""))


def test_another_process_may_have_a_standby_of_the_same_task() -> None:
    other = a_member(held(standby="0"), "o", process_id="q")
    assert parts(step(a_member(TasksTupleWithEpochs()), tasks("0"), other)) == ("0", "", "")
    assert parts(step(a_member(TasksTupleWithEpochs()), tasks(standby="0"), other)) == ("", "0", "")


def test_a_member_that_reports_no_tasks_still_has_them_all() -> None:
    holders = Holders()
    member = a_member(held("0"))
    after = reconciled(member, NO_TASKS, 7, owned=None, holders=holders)
    assert after.state is UNREVOKED
    assert reconciled(after, NO_TASKS, 7, owned=None, holders=holders) is after


def test_a_member_in_a_state_of_the_future_has_to_give_up_everything() -> None:
    member = replace(a_member(held("0")), state=MemberState(9))
    with pytest.raises(Refused) as refused:
        step(member, tasks("0"))
    assert refused.value.code is Code.FENCED_MEMBER_EPOCH
    assert step(member, tasks("0"), owned=NO_TASKS).member_epoch == 7


def test_a_task_that_is_given_up_has_no_holder() -> None:
    holders = Holders()
    one, two = a_member(held("0", "1", "2")), a_member(held("0"), "n", process_id="q")
    holders.add(one)
    holders.add(two)
    holders.remove(one)
    assert holders.active_process_id("s", 0) == "q", "the task has moved meanwhile"
    assert [*holders.standby_process_ids("s", 1), *holders.warmup_process_ids("s", 2)] == []
    holders.remove(two)
    assert holders.active_process_id("s", 0) is None
