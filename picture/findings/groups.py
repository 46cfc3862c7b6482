"""Findings: members that were replaced, and offsets that other members go on from."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import Final

from ...trace.messages import structs
from ...trace.owners import group_of
from .seen import EFFECT, Call, Finding, Partition, Seen, joined, place_of, places_in, said, times

REPLACED: Final = 1
READ_AGAIN: Final = 2
COMMITS_EARLY: Final = 2
GOES_ON: Final = 3


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
                f" and more,{times(len(calls))} ({clients})", EFFECT,
            )  # fmt: skip


class _Flow:
    """What happened in a partition of a group so far: reads, commits with offsets."""

    def __init__(self) -> None:
        self.reads: list[Call] = []
        self.commits: list[tuple[Call, int]] = []


class _Ends:
    """The last request of each client so far, and those by which clients left groups."""

    def __init__(self) -> None:
        self._last: dict[str, Call] = {}
        self._left: dict[tuple[str, str], Call] = {}

    def add(self, call: Call) -> None:
        """The next request of the trace."""
        self._last[call.client] = call
        fields = call.exchange.fields
        epoch = fields.get("member_epoch")
        if call.exchange.api == "LeaveGroup" or (isinstance(epoch, int) and epoch < 0):
            self._left[group_of(fields) or "", call.client] = call

    def told(self, group_id: str, commit: Call, produced: Sequence[int]) -> str:
        """How the client of a commit ended, and whether anything was produced before that."""
        left = self._left.get((group_id, commit.client))
        is_left = left is not None and left.seq > commit.seq
        end = left if left is not None and is_left else self._last.get(commit.client, commit)
        nothing = bisect(produced, commit.seq) == bisect(produced, end.seq)
        what = "left the group" if is_left else f"ended with {end.exchange.api}"
        without = ", with nothing produced in between" if nothing and produced else ""
        return f". After that commit {commit.client} {what} (#{end.seq}){without}"


def resumptions(seen: Seen) -> Iterator[Finding]:
    """Members that go on at an offset which another member has committed."""
    flows: dict[tuple[str, Partition], _Flow] = {}
    reads: dict[Partition, list[Call]] = {}
    produced: list[int] = []
    ends = _Ends()
    for call in seen.calls:
        ends.add(call)
        exchange = call.exchange
        match exchange.api:
            case "Fetch":
                for batch in structs(exchange.response, "batches"):
                    reads.setdefault(place_of(batch, seen.names), []).append(call)
            case "Produce":
                produced.append(call.seq)
            case "OffsetCommit" if exchange.is_answered and not exchange.error:
                group_id = group_of(exchange.fields) or ""
                for place, each in places_in(exchange.fields, seen.names):
                    flow = flows.setdefault((group_id, place), _Flow())
                    flow.reads = flow.reads or reads.get(place, [])[-1:]
                    flow.commits.append((call, each.get("committed_offset", -1)))
            case "OffsetFetch":
                for group_id, place, flow in _goes_on(call, flows, seen):
                    early = _early(flow, produced)
                    commit, offset = flow.commits[-1]
                    # Of an early commit, the last one is the one that nothing follows.
                    yield Finding(
                        COMMITS_EARLY if early else GOES_ON, commit.seq if early else call.seq,
                        f"{call.client} goes on with {said(place)} at offset {offset}, which"
                        f" {commit.client} committed (#{commit.seq}){early}"
                        f"{ends.told(group_id, commit, produced)}",
                    )  # fmt: skip
            case _:
                pass


def _goes_on(
    call: Call, flows: dict[tuple[str, Partition], _Flow], seen: Seen
) -> Iterator[tuple[str, Partition, _Flow]]:
    """Where an OffsetFetch finds the offset that another client has committed last."""
    response = call.exchange.response or {}
    for group in [*structs(response, "groups")] or [response]:
        group_id = group_of(group) or group_of(call.exchange.fields) or ""
        for place, each in places_in(group, seen.names):
            flow = flows.get((group_id, place))
            offset = each.get("committed_offset", -1)
            if flow is None or offset < 0:
                continue
            commit, committed = flow.commits[-1]
            if offset == committed and _is_another(commit, call):
                yield group_id, place, flow


def _early(flow: _Flow, produced: Sequence[int]) -> str:
    """Words if the first commit came before anything was produced of its read; else empty."""
    commit = flow.commits[0][0]
    behind = bisect(produced, flow.reads[0].seq if flow.reads else 0)
    if behind == len(produced) or produced[behind] < commit.seq:
        return ""
    return (
        f". {commit.client} commits before anything is produced of what it read"
        f" (commit #{commit.seq}, first Produce #{produced[behind]})"
    )
