"""Words for the APIs of consumer, share and Streams groups (KIP-848, KIP-932, KIP-1071)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from . import phrases
from .events import Fields
from .messages import Names

Words = Callable[[Fields, Names], Iterable[str]]

_CLOSING_EPOCH: Final = -1
_LEAVING_EPOCHS: Final = {-1: "leaves", -2: "leaves for a while"}
_TYPES: Final = {0: "gap", 1: "accept", 2: "release", 3: "reject", 4: "renew"}
_TASKS: Final = (("active_tasks", ""), ("standby_tasks", "standby "), ("warmup_tasks", "warm-up "))
_STATUSES: Final = (
    "stale topology", "missing source topics", "incorrectly partitioned topics",
    "missing internal topics", "shutdown of the application", "assignment delayed",
    "missing client tags",
)  # fmt: skip


def _of_range(each: Fields) -> str:
    first, last = each.get("first_offset"), each.get("last_offset")
    return f"{first}" if first == last else f"{first}-{last}"


def _acknowledged(partition: Fields) -> str:
    def told(each: Fields) -> str:
        types = dict.fromkeys(_TYPES.get(t, str(t)) for t in each.get("acknowledge_types") or ())
        return f"{'/'.join(types)} {_of_range(each)}"

    batches = phrases.structs_in(partition.get("acknowledgement_batches"))
    return f" {phrases.few(map(told, batches))}" if batches else ""


def _share_session(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield phrases.member(request)
    epoch = request.get("share_session_epoch")
    yield "closes its session" if epoch == _CLOSING_EPOCH else f"session epoch {epoch}"
    yield phrases.few(phrases.parts(request.get("topics"), names, _acknowledged))


def _acquired(response: Fields, names: Names) -> Iterator[str]:
    def told(partition: Fields) -> str:
        ranges = [
            f"{_of_range(each)} delivery {each.get('delivery_count')}"
            for each in phrases.structs_in(partition.get("acquired_records"))
        ]
        return f" {phrases.few(ranges)}" if ranges else ""

    found = [
        each
        for each in phrases.parts(response.get("responses"), names, told)
        if " delivery " in each
    ]
    yield phrases.few(found) or "no records"


def _heartbeat(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    yield phrases.member(request)
    epoch = request.get("member_epoch")
    yield _LEAVING_EPOCHS.get(epoch, "") or ("joins" if epoch == 0 else f"epoch {epoch}")  # type: ignore[arg-type]  # a number
    yield phrases.few(map(str, request.get("subscribed_topic_names") or ()))
    yield str(request.get("subscribed_topic_regex") or "")
    topology = request.get("topology")
    if isinstance(topology, Mapping):
        count = len(topology.get("subtopologies") or ())
        yield f"with {count} subtopolog{'y' if count == 1 else 'ies'}"


def _assignment(response: Fields, names: Names) -> Iterator[str]:
    if response.get("error_code"):
        return
    yield f"epoch {response.get('member_epoch')}"
    assignment = response.get("assignment")
    if isinstance(assignment, Mapping):
        found = phrases.indexes(assignment.get("topic_partitions"), names)
        yield phrases.few(found) or "no partitions"


def _tasks(response: Fields, names: Names) -> Iterator[str]:
    if response.get("error_code"):
        return
    yield f"epoch {response.get('member_epoch')}"
    if response.get("active_tasks") is not None:
        found = [
            f"{role}{each.get('subtopology_id')}_{partition}"
            for field, role in _TASKS
            for each in phrases.structs_in(response.get(field))
            for partition in each.get("partitions") or ()
        ]
        yield phrases.few(found) or "no tasks"
    for status in phrases.structs_in(response.get("status")):
        code = status.get("status_code", -1)
        yield f"({_STATUSES[code] if 0 <= code < len(_STATUSES) else code})"


def names_of(field: str) -> Words:
    """What a request names in a list of texts."""

    def words(request: Fields, _: Names) -> Iterator[str]:
        yield phrases.few(map(str, request.get(field) or ()))

    return words


def told_groups(response: Fields, names: Names) -> Iterator[str]:
    """The groups of an answer that describes or lists them."""

    def about(each: Fields) -> str:
        members = each.get("members")
        count = f" {phrases.count(len(members), 'member')}" if members is not None else ""
        return f"{each.get('group_id')} {each.get('group_state') or ''}{count}".rstrip()

    yield phrases.few(map(about, phrases.structs_in(response.get("groups"))))


def _offsets_of(request: Fields, names: Names) -> Iterator[str]:
    yield phrases.few(
        str(each.get("group_id")) for each in phrases.structs_in(request.get("groups"))
    )


def _told_offsets(response: Fields, names: Names) -> Iterator[str]:
    def offset(each: Fields) -> str:
        return f" from {each.get('start_offset')}, lag {each.get('lag')}"

    for group in phrases.structs_in(response.get("groups")):
        yield phrases.few(phrases.parts(group.get("topics"), names, offset)) or "no offsets"


def _delete(request: Fields, names: Names) -> Iterator[str]:
    yield request.get("group_id") or ""
    topics = phrases.structs_in(request.get("topics"))
    yield phrases.few(str(each.get("topic_name")) for each in topics)


def _state(request: Fields, names: Names) -> Iterator[str]:
    def told(each: Fields) -> str:
        start = each.get("start_offset")
        return "" if start is None else f" from {start}"

    yield request.get("group_id") or ""
    yield phrases.few(phrases.parts(request.get("topics"), names, told))


_GROUPS: Final = names_of("group_ids")
ASKED: Final[dict[str, Words]] = {
    "ConsumerGroupHeartbeat": _heartbeat, "ConsumerGroupDescribe": _GROUPS,
    "ShareGroupHeartbeat": _heartbeat, "ShareGroupDescribe": _GROUPS,
    "ShareFetch": _share_session, "ShareAcknowledge": _share_session,
    "InitializeShareGroupState": _state, "ReadShareGroupState": _state,
    "WriteShareGroupState": _state, "DeleteShareGroupState": _state,
    "ReadShareGroupStateSummary": _state, "StreamsGroupHeartbeat": _heartbeat,
    "StreamsGroupDescribe": _GROUPS, "DescribeShareGroupOffsets": _offsets_of,
    "AlterShareGroupOffsets": _state, "DeleteShareGroupOffsets": _delete,
}  # fmt: skip
GOT: Final[dict[str, Words]] = {
    "ConsumerGroupHeartbeat": _assignment, "ConsumerGroupDescribe": told_groups,
    "ShareGroupHeartbeat": _assignment, "ShareGroupDescribe": told_groups,
    "ShareFetch": _acquired, "StreamsGroupHeartbeat": _tasks,
    "StreamsGroupDescribe": told_groups, "DescribeShareGroupOffsets": _told_offsets,
}  # fmt: skip
