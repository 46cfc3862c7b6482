"""Share groups (KIP-932): idle ones, and records with locks of members."""

from __future__ import annotations

from collections.abc import Iterator

from .facts import Facts, GroupFacts, Place, SharedRecords
from .findings import Finding, counted, listed, named, places_named, span
from .of_groups import groups_of_interest, unread_places


def idle_share_groups(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Share groups that deliver nothing: without members, or without records."""
    for group in groups_of_interest(facts, "Share"):
        name, behind = group.group_id, _behind(facts, group)
        if not group.members and behind and not facts.subject.is_everything:
            yield Finding(
                "share_group_without_members", name,
                f"Share group {name} has no members, so nobody gets the records of"
                f" {places_named(behind)}.",
                f"state {group.state}; start offsets {_starts(group)}",
                "Start a share consumer of the group.",
                is_stuck=facts.subject.group == name,
            )  # fmt: skip
        elif facts.subject.group == name and group.committed and not behind:
            yield Finding(
                "share_group_at_the_end", name,
                f"Share group {name} is idle: all records up to the end are acknowledged or"
                " archived.",
                f"start offsets {_starts(group)}",
                "It waits for new records.", is_stuck=False,
            )  # fmt: skip
        if facts.subject.group == name and group.members:
            yield from _not_started(facts, group)


def _not_started(facts: Facts, group: GroupFacts) -> Iterator[Finding]:
    if new := unread_places(facts, group):
        yield Finding(
            "share_group_not_started", group.group_id,
            f"Share group {group.group_id} has no start offset for {places_named(new)} yet:"
            " share.auto.offset.reset decides, and latest (the default) skips the records that are"
            " there.",
            "DescribeShareGroupOffsets: no start offset",
            f"ottla groups reset {group.group_id} TOPIC --share --execute before the consumers"
            " start, or set share.auto.offset.reset=earliest for the group.",
            is_stuck=False,
        )  # fmt: skip


def locked_records(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Records that a member has acquired and not acknowledged."""
    found: dict[tuple[str, Place, str], list[SharedRecords]] = {}
    for each in facts.shared_records:
        if each.state == "ACQUIRED" and facts.subject.group in (None, each.group_id):
            key = each.group_id, each.place, each.member_id or ""
            found.setdefault(key, []).append(each)
    for (name, place, member_id), ranges in sorted(found.items()):
        number = sum(each.last_offset - each.first_offset + 1 for each in ranges)
        left_ms = max((each.lock_left_ms or 0) for each in ranges)
        tries = max(each.delivery_count for each in ranges)
        group = facts.groups.get(name)
        is_gone = group is not None and member_id not in {e.member_id for e in group.members}
        gone = ", which is no member any more," if is_gone else ""
        yield Finding(
            "locked_records", name,
            f"Member {member_id}{gone} of share group {name} has"
            f" {counted(number, 'record')} of {named(place)} and has not acknowledged"
            f" {'it' if number == 1 else 'them'}; the locks end in {span(left_ms)}, and then others"
            " get the records.",
            f"offsets {listed(f'{e.first_offset} to {e.last_offset}' for e in ranges)}, delivered"
            f" {counted(tries, 'time')}",
            "Acknowledge them (accept, release or reject), or wait for"
            " group.share.record.lock.duration.ms."
            + (f" In a test: broker.clock.advance(ms={left_ms})." if facts.is_clock_manual else ""),
            is_stuck=patience_ms == 0 or is_gone,
        )  # fmt: skip


def _behind(facts: Facts, group: GroupFacts) -> dict[Place, int]:
    """The partitions with records that may still be delivered."""
    found = {}
    for place, start in sorted(group.committed.items()):
        partition = facts.partitions.get(place)
        lag = group.lags.get(place)
        if lag is None and partition is not None and partition.high_watermark is not None:
            lag = partition.high_watermark - start
        if lag:
            found[place] = lag
    return found


def _starts(group: GroupFacts) -> str:
    return listed(f"{named(place)}: {start}" for place, start in sorted(group.committed.items()))
