"""Assignors of classic members; the leader uses them.

The cooperative assignor moves a partition in two rebalances: no member gets it before its owner
revokes it (KIP-429). If two members claim a partition, the later generation wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Place = tuple[str, int]
Dealt = dict[str, set[Place]]


class Subscribed(NamedTuple):
    """A member's subscription."""

    topics: frozenset[str]
    owned: frozenset[Place]
    generation: int


def eager(asked: Mapping[str, Subscribed], counts: Mapping[str, int]) -> Dealt:
    """Assign all partitions, without regard to their owners."""
    dealt: Dealt = {member_id: set() for member_id in asked}
    for topic, count in sorted(counts.items()):
        readers = sorted(member_id for member_id in asked if topic in asked[member_id].topics)
        for index in range(count):
            dealt[readers[index % len(readers)]].add((topic, index))
    return dealt


def cooperative(asked: Mapping[str, Subscribed], counts: Mapping[str, int]) -> Dealt:
    """Assign free partitions, and revoke those above a member's share."""
    places = [(topic, index) for topic, count in sorted(counts.items()) for index in range(count)]
    owner: dict[Place, str] = {}
    for member_id, each in sorted(asked.items(), key=lambda item: (item[1].generation, item[0])):
        owner.update(dict.fromkeys(each.owned, member_id))
    claimed = {place for each in asked.values() for place in each.owned}
    readers = {
        topic: sorted(member_id for member_id in asked if topic in asked[member_id].topics)
        for topic in counts
    }
    dealt: Dealt = {member_id: set() for member_id in asked}
    for place in places:
        if owner.get(place) in readers[place[0]]:
            dealt[owner[place]].add(place)
    load = {member_id: len(each) for member_id, each in dealt.items()}
    for place in places:
        member_id = owner.get(place, "")
        least = min(readers[place[0]], key=load.__getitem__, default=None)
        if least is None:
            continue
        if place not in claimed:
            dealt[least].add(place)
            load[least] += 1
        elif place in dealt.get(member_id, ()) and load[least] + 1 < load[member_id]:
            dealt[member_id].discard(place)
            load[member_id] -= 1
            load[least] += 1  # after it is free
    return dealt
