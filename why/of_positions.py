"""Where committed offsets are: at the end, outside of the log, or before unread records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .facts import CONSUMERS, Facts, GroupFacts, PartitionFacts, Place, Rest
from .findings import Finding, counted, listed, named, places_named
from .of_groups import groups_of_interest, unread_places

_READERS: Final = ("Classic", "Consumer", "Streams")
_EMPTY: Final = "Empty"


def outside_of_the_log(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Committed offsets that the log does not have (any more)."""
    for group in groups_of_interest(facts, *_READERS):
        if not group.members and facts.subject.is_everything:
            continue  # no consumer waits
        for place, offset in sorted(group.committed.items()):
            partition = facts.partitions.get(place)
            if partition is None or partition.log_start is None or partition.leader < 0:
                continue
            if facts.subject.is_everything and _is_left(group, place):
                continue
            where = f"Group {group.group_id} has committed offset {offset} of {named(place)}"
            evidence = (
                f"committed {offset}, log start {partition.log_start}, high watermark"
                f" {partition.high_watermark}"
            )
            if offset < partition.log_start:
                lost = partition.log_start - offset
                gone = f"{counted(lost, 'record')} before it {'is' if lost == 1 else 'are'} deleted"
                yield Finding(
                    "behind_log_start", group.group_id,
                    f"{where}, and the log starts at {partition.log_start}: up to"
                    f" {gone}. Its consumer gets OFFSET_OUT_OF_RANGE, and auto.offset.reset"
                    f" decides: earliest goes on at {partition.log_start}, latest skips"
                    " to the end, none fails.",
                    evidence,
                    "Set auto.offset.reset=earliest, or stop the members and reset the offset"
                    f" (`ottla groups reset {group.group_id} {place[0]} --execute`).",
                )  # fmt: skip
            elif partition.high_watermark is not None and offset > partition.high_watermark:
                yield Finding(
                    "beyond_the_end", group.group_id,
                    f"{where}, and the log ends at {partition.high_watermark}: its"
                    " consumer gets OFFSET_OUT_OF_RANGE, and auto.offset.reset decides.",
                    evidence,
                    "The topic was deleted and made again, or offsets come from another cluster:"
                    " stop the members and reset them"
                    f" (`ottla groups reset {group.group_id} {place[0]} --execute`).",
                )  # fmt: skip


def _is_left(group: GroupFacts, place: Place) -> bool:
    """Whether no member of a stable group reads a partition, as of a topic of former times."""
    return group.state == "Stable" and all(place not in each.assigned for each in group.members)


def nobody_reads(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Groups without members, and records that they have not read."""
    for group in groups_of_interest(facts, *_READERS):
        if group.members or group.state != _EMPTY:
            continue
        if facts.subject.is_everything:
            continue  # groups that have done their work are everywhere
        behind = {
            place: (group.committed[place], partition)
            for place, partition in _partitions(facts, group)
            if partition.high_watermark is not None
            and group.committed[place] < partition.high_watermark
            and (place not in group.rest or group.rest[place].readable)
        }
        if not behind:
            continue
        offsets = listed(
            f"{named(place)}: {offset} of {partition.high_watermark}"
            for place, (offset, partition) in behind.items()
        )
        yield Finding(
            "no_members", group.group_id,
            f"Group {group.group_id} has no members, so nobody reads the rest of"
            f" {places_named(behind)}.",
            f"state Empty; committed {offsets}",
            "Start a consumer of the group, or look why the last one ended.",
            is_stuck=facts.subject.group == group.group_id,
        )  # fmt: skip


def at_the_end(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Groups that have read all there is, though offsets seem to be left."""
    for group in groups_of_interest(facts, *_READERS):
        if facts.subject.group != group.group_id:
            continue
        known = dict(_partitions(facts, group))
        if not known or not all(_is_read(group, place, known[place]) for place in known):
            continue
        rest = [group.rest[place] for place in known if place in group.rest]
        yield Finding(
            "at_the_end", group.group_id,
            f"Group {group.group_id} has read everything: its lag is 0{_skipped(rest)}.",
            f"committed {_offsets(group, known)}",
            "It waits for new records. If one should be there, look at its producer.",
            is_stuck=False,
        )  # fmt: skip


def members_without_partitions(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Members of a stable group that have nothing to read."""
    for group in groups_of_interest(facts, *_READERS):
        if facts.subject.group != group.group_id:
            continue
        if group.protocol_type != CONSUMERS:
            continue  # its members share something else, as connectors
        idle = [each for each in group.members if not each.assigned and not each.target]
        if group.state != "Stable" or not idle:
            continue
        all_idle = len(idle) == len(group.members)
        some = f"{len(idle)} of the {len(group.members)} members"
        who = "Each member" if all_idle else some
        yield Finding(
            "idle_members", group.group_id,
            f"{who} of group {group.group_id} {'has' if all_idle or len(idle) == 1 else 'have'}"
            f" no partition: {_why_idle(group, facts, all_idle=all_idle)}.",
            f"idle: {listed(each.member_id for each in idle)}",
            "Create the topic, or check the subscription." if all_idle
            else "Add partitions, or run fewer members.",
            is_stuck=all_idle,
        )  # fmt: skip


def _why_idle(group: GroupFacts, facts: Facts, *, all_idle: bool) -> str:
    if not all_idle:
        return "the topics have fewer partitions than the group has members"
    wanted = sorted({topic for each in group.members for topic in each.subscribed})
    absent = [each for each in wanted if all(place[0] != each for place in facts.partitions)]
    if absent:
        return f"{listed(absent)} does not exist"
    return "it has subscribed to nothing that exists"


def no_offset_yet(facts: Facts, patience_ms: int) -> Iterator[Finding]:
    """Assigned partitions without a committed offset, whose records may be skipped."""
    for group in groups_of_interest(facts, "Classic", "Consumer"):
        if facts.subject.group != group.group_id:
            continue
        if new := unread_places(facts, group) - group.unstable:
            yield Finding(
                "no_offset_yet", group.group_id,
                f"Group {group.group_id} has committed nothing for {places_named(new)}:"
                " auto.offset.reset decides where it begins, and latest (the default) skips the"
                " records that are there.",
                "OffsetFetch: no offset",
                "Set auto.offset.reset=earliest in a test that produces before it subscribes.",
                is_stuck=False,
            )  # fmt: skip


def _partitions(facts: Facts, group: GroupFacts) -> Iterator[tuple[Place, PartitionFacts]]:
    """The partitions that the group has committed and that have a leader."""
    for place in sorted(group.committed):
        partition = facts.partitions.get(place)
        if partition is not None and partition.leader >= 0:
            yield place, partition


def _is_read(group: GroupFacts, place: Place, partition: PartitionFacts) -> bool:
    offset = group.committed[place]
    if partition.last_stable is None or partition.is_unstable or place in group.unstable:
        return False
    if offset >= partition.last_stable:
        return offset == partition.last_stable
    rest = group.rest.get(place)
    return rest is not None and rest.is_whole and not rest.readable


def _skipped(rest: list[Rest]) -> str:
    markers, aborted = sum(each.markers for each in rest), sum(each.aborted for each in rest)
    parts = []
    if markers:
        parts.append(counted(markers, "marker"))
    if aborted:
        parts.append(counted(aborted, "aborted record"))
    return f" ({' and '.join(parts)} left, which no reader gets)" if parts else ""


def _offsets(group: GroupFacts, known: dict[Place, PartitionFacts]) -> str:
    return listed(
        f"{named(place)}: {group.committed[place]}, end {known[place].high_watermark}"
        for place in known
    )
