"""Findings: members that were lost or replaced, and offsets that other members go on from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...trace.events import GroupTransition
from ...trace.messages import structs
from ...trace.owners import group_of
from .seen import Call, Finding, Partition, Seen, joined, place_of, places_in, said, times

LOST: Final = 1
REPLACED: Final = 1
READ_AGAIN: Final = 2
GOES_ON: Final = 3


def lost_members(seen: Seen) -> Iterator[Finding]:
    """Classic groups that a member left by its silence."""
    sessions: dict[str, set[str]] = {}
    for call in seen.of("JoinGroup"):
        span_ms = call.exchange.fields.get("session_timeout_ms")
        group_id = group_of(call.exchange.fields)
        if group_id and span_ms is not None:
            sessions.setdefault(group_id, set()).add(str(span_ms))
    lost: dict[str, list[int]] = {}
    for row in seen.rows:
        event = row.event
        if not isinstance(event, GroupTransition) or event.cause:
            continue
        if (event.before, event.after) == ("Stable", "PreparingRebalance"):
            lost.setdefault(event.group_id, []).append(event.seq)
    for group_id, seqs in lost.items():
        spans = joined(sorted(sessions.get(group_id, ())))
        yield Finding(
            LOST, seqs[0],
            f"Group {group_id} lost a member{times(len(seqs))}: no heartbeat came within"
            f" session.timeout.ms{f'={spans}' if spans else ''}, so its partitions were taken away",
        )  # fmt: skip


def replaced_members(seen: Seen) -> Iterator[Finding]:
    """Members whose group.instance.id another client has taken while they were alive."""
    holders: dict[tuple[str, str], Call] = {}
    fenced = {call.client for call in seen.calls if "FENCED_INSTANCE_ID" in seen.errors(call)}
    for call in seen.of("JoinGroup", "ConsumerGroupHeartbeat"):
        fields = call.exchange.fields
        instance, group_id = fields.get("group_instance_id"), group_of(fields)
        if not instance or not group_id or seen.errors(call) or not call.exchange.is_answered:
            continue
        if call.exchange.api != "JoinGroup" and fields.get("member_epoch") != 0:
            continue
        before = holders.get((group_id, str(instance)))
        holders[group_id, str(instance)] = call
        if before is not None and before.client in fenced and _is_another(before, call):
            yield Finding(
                REPLACED, call.seq,
                f"{call.client} joined group {group_id} with group.instance.id={instance}, which"
                f" {before.client} had (#{before.seq}): {before.client} was fenced",
            )  # fmt: skip


def _is_another(before: Call, after: Call) -> bool:
    return (before.client, before.exchange.connection) != (after.client, after.exchange.connection)


def read_again(seen: Seen) -> Iterator[Finding]:
    """Records that members of a group got more than once."""
    groups = {
        call.client: group_id
        for call in seen.of("JoinGroup", "ConsumerGroupHeartbeat")
        if (group_id := group_of(call.exchange.fields))
    }
    reads: dict[tuple[str, Partition, int], list[Call]] = {}
    for call in seen.of("Fetch"):
        if call.client not in groups:
            continue
        asked = dict(places_in(call.exchange.fields, seen.names))
        firsts: dict[Partition, int] = {}
        for batch in structs(call.exchange.response, "batches"):
            if not batch.get("is_control"):
                place = place_of(batch, seen.names)
                # A batch also has the records before the offset that was asked for.
                offset = asked.get(place, {}).get("fetch_offset", -1)
                firsts.setdefault(place, max(batch.get("base_offset", -1), offset))
        for place, first in firsts.items():
            reads.setdefault((groups[call.client], place, first), []).append(call)
    for (group_id, place, first), calls in reads.items():
        if len(calls) > 1:
            clients = joined(each.client for each in calls)
            yield Finding(
                READ_AGAIN, calls[1].seq,
                f"Members of group {group_id} read {said(place)}, offset {first}"
                f" and more,{times(len(calls))} ({clients})",
            )  # fmt: skip


class _Flow:
    """What happened in a partition of a group so far: reads, commits with offsets."""

    def __init__(self) -> None:
        self.reads: list[Call] = []
        self.commits: list[tuple[Call, int]] = []


def resumptions(seen: Seen) -> Iterator[Finding]:
    """Members that go on at an offset which another member has committed."""
    flows: dict[tuple[str, Partition], _Flow] = {}
    reads: dict[Partition, list[Call]] = {}
    produced: list[Call] = []
    for call in seen.of("Fetch", "Produce", "OffsetCommit", "OffsetFetch"):
        exchange = call.exchange
        match exchange.api:
            case "Fetch":
                for batch in structs(exchange.response, "batches"):
                    reads.setdefault(place_of(batch, seen.names), []).append(call)
            case "Produce":
                produced.append(call)
            case "OffsetCommit" if exchange.is_answered and not exchange.error:
                group_id = group_of(exchange.fields) or ""
                for place, each in places_in(exchange.fields, seen.names):
                    flow = flows.setdefault((group_id, place), _Flow())
                    flow.reads = flow.reads or reads.get(place, [])[-1:]
                    flow.commits.append((call, each.get("committed_offset", -1)))
            case "OffsetFetch":
                yield from _goes_on(call, flows, produced, seen)
            case _:
                pass


def _goes_on(
    call: Call, flows: dict[tuple[str, Partition], _Flow], produced: list[Call], seen: Seen
) -> Iterator[Finding]:
    """The sentence for an OffsetFetch that finds an offset of another member."""
    response = call.exchange.response or {}
    for group in [*structs(response, "groups")] or [response]:
        group_id = group_of(group) or group_of(call.exchange.fields) or ""
        for place, each in places_in(group, seen.names):
            flow = flows.get((group_id, place))
            offset = each.get("committed_offset", -1)
            if flow is None or offset != flow.commits[-1][1] or offset < 0:
                continue
            commit = flow.commits[-1][0]
            if _is_another(commit, call):
                yield Finding(
                    GOES_ON, call.seq,
                    f"{call.client} goes on with {said(place)} at offset {offset}, which"
                    f" {commit.client} committed (#{commit.seq}){_early(flow, produced)}",
                )  # fmt: skip


def _early(flow: _Flow, produced: list[Call]) -> str:
    """Whether the first commit came before what was produced of its read."""
    commit = flow.commits[0][0]
    begin = flow.reads[0].seq if flow.reads else 0
    behind = [each for each in produced if each.seq > begin]
    if not behind or behind[0].seq < commit.seq:
        return ""
    return (
        f". {commit.client} commits before anything is produced of what it read"
        f" (commit #{commit.seq}, first Produce #{behind[0].seq})"
    )
