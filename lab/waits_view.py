"""What the broker waits for, which no protocol of Kafka shows: `GET /waits` of the control.

Sessions and rebalances of groups with the time that is left, clients that a quota throttles, and
the newest requests that were refused, if the trace is on. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..coordinator.consumer.classic_protocol import assigned_partitions
from ..protocol.errors import Malformed
from ..trace.events import Answer, Event, Request
from ..trace.messages import errors_of

if TYPE_CHECKING:
    from ..broker.node import Node
    from ..coordinator.group_waits import GroupWaits, MemberWaits
    from .tracing.trace import Tracer

MOST_GROUPS: Final = 1000
_LOOKED_AT: Final = 5000
_MOST_REFUSALS: Final = 20
_NAMES: Final = ("transactional_id", "v3_and_below_transactional_id", "group_id", "name", "topic")
_DETAILS: Final = (
    "transactional_id", "v3_and_below_transactional_id", "producer_id", "producer_epoch",
    "group_id", "generation_id", "generation_id_or_member_epoch", "member_id", "member_epoch",
    "group_instance_id",
)  # fmt: skip
Shown = dict[str, Any]
_Value = TypeVar("_Value")


def waits_of(nodes: Sequence[Node], tracer: Tracer) -> Shown:
    """The waits of all nodes of a process.

    Of many groups it has the first `MOST_GROUPS`, and the number of the others.
    """
    clock = nodes[0].clock
    now_ms = clock.monotonic_ms()
    groups = (
        (kind, group_id)
        for node in nodes
        if node.runs
        for shard in node.groups.shards()
        if not shard.is_closed and not shard.is_loading
        for kind in shard.machine.kinds.all
        for group_id in kind.groups
    )
    shown_groups, more_groups = first_of(groups, MOST_GROUPS)
    return {
        "now_ms": clock.now_ms(),
        "is_clock_manual": clock.is_held,
        "groups": [
            _group(group_id, kind.name, kind.state_of(group_id), kind.waits_of(group_id), now_ms)
            for kind, group_id in shown_groups
        ],
        "more_groups": more_groups,
        "throttled": [
            {"user": user, "client_id": client_id, "left_ms": left_ms}
            for node in nodes
            if node.runs and node.quotas is not None
            for user, client_id, left_ms in node.quotas.waits(clock.live.monotonic_ms())
        ],
        "refusals": refusals_in(tracer.newest(_LOOKED_AT), clock.now_ms()),
    }


def first_of(values: Iterator[_Value], most: int) -> tuple[list[_Value], int]:
    """The first values, and the number of the others, which are counted and not kept."""
    return list(islice(values, most)), sum(1 for _ in values)


def _group(group_id: str, kind: str, state: str, waits: GroupWaits, now_ms: int) -> Shown:
    return {
        "group": group_id,
        "type": kind,
        "state": state,
        "rebalance_left_ms": _left(waits.rebalance_due_ms, now_ms),
        "rebalance_ms": waits.rebalance_ms,
        "is_initial_delay": waits.is_initial_delay,
        "pending_members": list(waits.pending_members),
        "topics": list(waits.topics),
        "members": [_member(each, now_ms) for each in waits.members],
    }


def _member(waits: MemberWaits, now_ms: int) -> Shown:
    return {
        "member_id": waits.member_id,
        "assigned": _assigned(waits.assignment),
        "session_ms": waits.session_ms,
        "session_left_ms": _left(waits.session_due_ms, now_ms),
        "has_joined": waits.has_joined,
        "has_synced": waits.has_synced,
        "revocation_left_ms": _left(waits.revocation_due_ms, now_ms),
    }


def _left(due_ms: int | None, now_ms: int) -> int | None:
    return None if due_ms is None else max(0, due_ms - now_ms)


def _assigned(assignment: bytes) -> list[list[object]]:
    """Topic and index of each partition; none if an assignor of its own made the assignment."""
    try:
        found = assigned_partitions(assignment)
    except Malformed:
        return []
    return [[topic, index] for topic in sorted(found) for index in sorted(found[topic])]


def refusals_in(events: Iterable[Event], now_ms: int) -> list[Shown]:
    """The newest requests that were refused, the newest first; the same one once.

    Args:
        events: the newest last.
        now_ms: the wall time.
    """
    requests: dict[int, Request] = {}
    found: dict[tuple[str, str, str, str], Shown] = {}
    for event in events:
        if isinstance(event, Request):
            requests[event.seq] = event
        elif isinstance(event, Answer) and (codes := errors_of(event)):
            request = requests.get(event.cause)
            if request is None:
                continue
            names = list(dict.fromkeys(map(str, _named(request.fields, _NAMES))))
            for code in codes:
                key = request.api, code, request.client_id or "", ",".join(names)
                before = found.pop(key, None)
                found[key] = {
                    "api": request.api,
                    "code": code,
                    "client_id": request.client_id or "",
                    "ago_ms": max(0, now_ms - event.at_ms),
                    "subject": _subject(request.fields, names),
                    "details": _details(request.fields),
                    "names": names,
                    "times": 1 if before is None else before["times"] + 1,
                }
    return list(islice(reversed(found.values()), _MOST_REFUSALS))


def _named(value: object, wanted: tuple[str, ...]) -> Iterator[object]:
    """The values of fields of these names, at any depth."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in wanted and isinstance(each, str | int) and each != "":
                yield each
            elif isinstance(each, dict | list):
                yield from _named(each, wanted)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each, wanted)


def _subject(fields: Any, names: list[str]) -> str:
    """What the request is about, in words."""
    for words, wanted in (
        ("transactional id", _NAMES[:2]),
        ("group", ("group_id",)),
        ("topic", ("name", "topic")),
    ):
        for each in _named(fields, wanted):
            return f"{words} {each}"
    return names[0] if names else ""


def _details(fields: Any) -> str:
    """Who sent it, by the fields at the top of the request."""
    told = [f"{name} {fields[name]}" for name in _DETAILS if fields.get(name) not in (None, "", -1)]
    return ", ".join(told)
