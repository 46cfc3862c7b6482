"""Requests of administrators: listing, description and deletion of groups."""

from __future__ import annotations

import pytest

from ottla.coordinator.groups import ListedGroup
from ottla.protocol.errors import Code
from tests.coordinator.group_conversation import GROUP, RANGE, Client, GroupTalk, stable_group


def test_a_stable_group_is_described_with_its_members(talk: GroupTalk) -> None:
    a = Client(talk, "a", instance="i")
    stable_group(talk, a)
    group = talk.group
    assert (group.state, group.protocol_type, group.protocol) == ("Stable", "consumer", "range")
    ((member, metadata),) = group.members
    assert (member.member_id, member.group_instance_id) == (a.member_id, "i")
    assert (member.client_id, member.client_host) == ("a", "/127.0.0.1")
    assert (metadata, member.assignment) == (RANGE[0][1], b"a")


def test_a_rebalancing_group_shows_its_last_assignment_without_metadata(talk: GroupTalk) -> None:
    a, b = Client(talk, "a"), Client(talk, "b")
    stable_group(talk, a)
    b.join()
    group = talk.group
    assert (group.state, group.protocol_type, group.protocol) == (
        "PreparingRebalance", "consumer", "",
    )  # fmt: skip
    assert [(metadata, member.assignment) for member, metadata in group.members] == [
        (b"", b"a"),
        (b"", b""),
    ]


def test_an_unknown_group_cannot_be_described() -> None:
    assert GroupTalk().machine.describe(GROUP) is None


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        (set(), set(), {"empty", "stable"}),
        ({"stable"}, set(), {"stable"}),
        ({"stable", "empty"}, {"classic"}, {"empty", "stable"}),
        ({"preparingrebalance"}, set(), set()),
        ({"no such state"}, set(), set()),
        (set(), {"consumer"}, set()),
        (set(), {"no such type"}, set()),
        (set(), {"consumer", "classic"}, {"empty", "stable"}),
    ],
)
def test_groups_are_listed_by_state_and_type(
    states: set[str], types: set[str], found: set[str], talk: GroupTalk
) -> None:
    stable_group(talk, Client(talk, "a"))
    simple = GroupTalk()
    simple.commit(5)
    listed = {
        "stable": talk.machine.list_groups(states=states, types=types),
        "empty": simple.machine.list_groups(states=states, types=types),
    }
    expected = {
        "stable": [ListedGroup(GROUP, "consumer", "Stable", "classic")],
        "empty": [ListedGroup(GROUP, "", "Empty", "classic")],
    }
    assert listed == {name: expected[name] if name in found else [] for name in listed}


def test_a_group_is_listed_while_its_members_join() -> None:
    talk = GroupTalk(initial_rebalance_delay_ms=3_000)
    Client(talk, "a").join()
    assert [group.state for group in talk.machine.list_groups()] == ["PreparingRebalance"]


def test_an_empty_group_is_deleted_with_its_offsets(talk: GroupTalk, a: Client) -> None:
    stable_group(talk, a)
    a.commit(5)
    assert talk.told(talk.machine.delete([GROUP])) == {GROUP: Code.NON_EMPTY_GROUP}
    a.leave()
    talk.told(talk.machine.delete([GROUP]))
    assert (talk.state, talk.offset()) == ("Dead", -1)
    assert talk.told(talk.machine.delete([GROUP])) == {GROUP: Code.GROUP_ID_NOT_FOUND}


def test_deleting_a_group_forgets_the_ids_that_it_gave_out(talk: GroupTalk, a: Client) -> None:
    a.ask_for_id()
    talk.told(talk.machine.delete([GROUP]))
    assert a.join() is not None
    assert talk.machine.next_deadline(talk.now) is None
