"""Rules of faults: which requests or steps of the broker they match, and what they do then.

A rule is given as JSON and checked when it is added: a field that does not exist, a value of the
wrong type and a rule that can never fire are refused with a sentence.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from ...protocol.errors import Code
from .orders import MOST_ADVANCE_MS

Point: TypeAlias = Literal["before", "after"]
Count: TypeAlias = Annotated[int, Meta(ge=1)]
Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, le=86_400_000)]
Pattern: TypeAlias = Annotated[
    str, Meta(max_length=1000, description="A name; * stands for any characters, ? for one.")
]
Given = TypeVar("Given", bound=Struct)
RING: Final = 10_000
MOST_RING: Final = 1_000_000
Index: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class WrongRule(ValueError):
    """A rule, or another order, is wrong; the text says why in one sentence."""


class CannotFire(ValueError):
    """A rule can never fire on this broker; the text says why in one sentence."""


class Match(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """What a rule matches: all fields that are given must hold.

    Attributes:
        api: the name of an API as in Kafka's protocol, such as EndTxn.
        versions: the lowest and the highest version of the request.
        client_id, principal, listener: of the connection; a principal is TYPE:NAME.
        connection: the id of the connection, as the trace has it.
        node_id: the node that the client connected to.
        topic, partition: the request names this topic, or this partition of it.
        transactional_id, producer_id, group: the request names it.
        member: a member id or a group instance id that the request names.
        nth: fires only for the n-th that the fields above match.
        every: fires only for each n-th of them.
        after_ms: fires only once this time has passed since the rule was added.
        probability: fires only with this probability, from 0 to 1.
        seed: of the probability; the same seed chooses the same ones again.
        times: fires at most this often.
    """

    api: Pattern | None = None
    versions: tuple[Index, Index] | None = None
    client_id: Pattern | None = None
    principal: Pattern | None = None
    connection: Pattern | None = None
    node_id: Index | None = None
    listener: Pattern | None = None
    topic: Pattern | None = None
    partition: Index | None = None
    transactional_id: Pattern | None = None
    producer_id: Annotated[int, Meta(ge=0)] | None = None
    group: Pattern | None = None
    member: Pattern | None = None
    nth: Count | None = None
    every: Count | None = None
    after_ms: Milliseconds | None = None
    probability: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: int = 0
    times: Count | None = None


class Action(Struct, tag_field="kind", forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What a rule does; `kind` names it."""


class Error(Action, tag="error", frozen=True, kw_only=True):
    """Answer with an error; the request is not applied.

    With a topic or partition in the match the error is theirs alone, and the rest is applied.

    Attributes:
        code: the name or the number of one of Kafka's error codes.
        message: of the answer, where it has one.
    """

    code: str | int
    message: Annotated[str, Meta(max_length=1000)] | None = None


class Delay(Action, tag="delay", frozen=True, kw_only=True):
    """Wait before the request is applied, or before its answer is sent.

    Attributes:
        ms: how long.
        up_to_ms: if given, a time between `ms` and this one is drawn for each request.
        seed: of the drawn times.
        point: when to wait.
    """

    ms: Milliseconds
    up_to_ms: Milliseconds | None = None
    seed: int = 0
    point: Point = "before"


class Throttle(Action, tag="throttle", frozen=True, kw_only=True):
    """Apply the request, and answer that the client is throttled (KIP-219).

    Attributes:
        ms: the throttle time of the answer.
        mutes: whether the broker reads nothing from the connection meanwhile, as Kafka does.
    """

    ms: Annotated[int, Meta(ge=1, le=86_400_000)]
    mutes: bool = True


class DropRequest(Action, tag="drop_request", frozen=True, kw_only=True):
    """Neither apply the request nor answer it, nor any later one of the connection.

    Attributes:
        close: whether the connection is closed at once; otherwise it stays silent.
    """

    close: bool = False


class DropAnswer(Action, tag="drop_answer", frozen=True, kw_only=True):
    """Apply the request, and answer neither it nor any later one of the connection.

    Attributes:
        close: whether the connection is closed then; otherwise it stays silent.
    """

    close: bool = False


class CloseBefore(Action, tag="close_before", frozen=True):
    """Close the connection; the request is not applied."""


class CloseAfter(Action, tag="close_after", frozen=True):
    """Apply the request, and close the connection instead of an answer."""


class ApplyTwice(Action, tag="apply_twice", frozen=True, kw_only=True):
    """Apply the request twice, as if the client had sent it again after a lost answer.

    Attributes:
        answer: which of the two answers the client gets.
    """

    answer: Literal["first", "second"] = "second"


class ApplyLate(Action, tag="apply_late", frozen=True, kw_only=True):
    """Close the connection or be silent, and apply the request later, after the client has gone on.

    Attributes:
        ms: when it is applied; without it the rule must be released.
        close: whether the connection is closed at once; otherwise it stays silent.
    """

    ms: Milliseconds | None = None
    close: bool = True


class CutAnswer(Action, tag="cut_answer", frozen=True, kw_only=True):
    """Apply the request, send the first bytes of the answer and close the connection.

    Attributes:
        bytes: how many of the answer, its size field included.
    """

    bytes: Annotated[int, Meta(ge=0)]


class Hold(Action, tag="hold", frozen=True, kw_only=True):
    """Hold the request or its answer until the rule is released or removed.

    Attributes:
        point: whether it is held before it is applied, or after that.
    """

    point: Point = "before"


class Corrupt(Action, tag="corrupt", frozen=True, kw_only=True):
    """Apply the request and change its answer.

    Attributes:
        what: one of the kinds in lab/answers/corruption.py.
        seed: of the choices that the change makes.
        place: the number of the byte of a batch in which a bit flips; it is drawn if not given.
    """

    what: str
    seed: int = 0
    place: Index | None = None


class ForgetSession(Action, tag="forget_session", frozen=True):
    """Forget the fetch session of the request (KIP-227), then apply the request."""


class MoveLeader(Action, tag="move_leader", frozen=True, kw_only=True):
    """Make another node the leader of the partitions of the request, then apply the request.

    Attributes:
        node_id: the new leader; without it the next node in sync.
    """

    node_id: Index | None = None


class MoveCoordinator(Action, tag="move_coordinator", frozen=True, kw_only=True):
    """Make another node the coordinator of the request's transactional id or group, then apply it.

    Attributes:
        node_id: the new coordinator; without it the next node in sync.
    """

    node_id: Index | None = None


class Disk(Action, tag="disk", frozen=True, kw_only=True):
    """Let appends to the log of the match's topic or partition fail, or be slow.

    Attributes:
        error: what happens; a slow fsync needs `flush.messages`.
        ms: how long a slow fsync takes.
    """

    error: Literal["ENOSPC", "EIO", "slow_fsync"]
    ms: Annotated[int, Meta(ge=1, le=600_000)] = 1000


class Crash(Action, tag="crash", frozen=True, kw_only=True):
    """Kill the node whose step it is; the only node of a process with SIGKILL.

    Attributes:
        point: the name of the step.
        scope: `process` kills all nodes of the process with SIGKILL.
    """

    point: Literal[
        "before_prepare_append", "prepare_append", "before_prepare_answer", "prepare_answer",
        "before_marker", "marker", "before_complete_append", "complete_append",
        "before_offsets_materialized", "offsets_materialized",
        "before_produce_append", "produce_append",
        "before_group_append", "group_append", "before_segment_roll", "segment_roll",
        "before_snapshot", "snapshot", "before_swap", "swap",
    ]  # fmt: skip
    scope: Literal["node", "process"] = "node"


OfRequest: TypeAlias = (
    Error | Delay | Throttle | DropRequest | DropAnswer | CloseBefore | CloseAfter | ApplyTwice
    | ApplyLate | CutAnswer | Hold | Corrupt | ForgetSession | MoveLeader | MoveCoordinator
)  # fmt: skip
OfStep: TypeAlias = Disk | Crash
AnyAction: TypeAlias = OfRequest | OfStep

HOLDING: Final = (Hold, ApplyLate)
"""Actions that a release ends."""


class TraceSettings(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What to trace, and where it goes.

    Attributes:
        on: False to switch it off.
        ring: the number of events in memory.
        file: a path that gets all events, a line of JSON each.
        file_bytes: a larger file becomes FILE.before, in place of the last one, and a new one
            begins; None for no limit.
        with_previews: whether batches have the beginnings of keys and values.
    """

    on: bool = True
    ring: Annotated[int, Meta(ge=1, le=MOST_RING)] = RING
    file: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    file_bytes: Annotated[int, Meta(ge=4096)] | None = None
    with_previews: bool = True


class ClockAdvance(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How far the clock of the broker is moved.

    Attributes:
        ms: if negative, the wall clock is set back.
        moved_by: for people: who moves it, such as the line of a test; the trace has it.
    """

    ms: Annotated[int, Meta(ge=-MOST_ADVANCE_MS, le=MOST_ADVANCE_MS)]
    moved_by: Annotated[str, Meta(max_length=300)] = ""


class LeaderMove(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """Which node shall lead a partition.

    Attributes:
        topic: its name.
        node_id: the new leader.
        partition: its index; without it, all partitions of the topic.
    """

    topic: str
    node_id: Index
    partition: Index | None = None


class RuleSpec(Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """A rule as it is given.

    Attributes:
        match: what it matches; all requests without it.
        action: what it does.
        name: for people; the trace has it.
        added_by: for people: who adds it, such as the line of a test; the trace has it.
        continue_: whether later rules are tried after this one has fired.
    """

    action: AnyAction
    match: Match = Match()
    name: Annotated[str, Meta(max_length=200)] = ""
    added_by: Annotated[str, Meta(max_length=300)] = ""
    continue_: bool = msgspec.field(default=False, name="continue")


def read(data: object, kind: type[Given]) -> Given:
    """A JSON object as one of these types. Raises WrongRule with a sentence."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as wrong:
        raise WrongRule(_sentence(str(wrong), data)) from None


def _sentence(complaint: str, data: object) -> str:
    text, _, place = complaint.partition(" - at ")
    where = place.strip("`").removeprefix("$").removeprefix(".")
    if text.startswith("Invalid value") and where.endswith("kind"):
        return f"action.kind must be one of {', '.join(ACTIONS)}{_meant_kind(data)}"
    if "unknown field" in text and "match" in where:
        return f"match: {text}; the fields are {', '.join(_fields(Match))}"
    if where.startswith("action"):
        text += _of_action(where.removeprefix("action").removeprefix("."), data)
    return f"{where}: {text}" if where else text


def _meant_kind(data: object) -> str:
    """For a kind that is nearly one of the actions: which one."""
    from difflib import get_close_matches

    action = data.get("action") if isinstance(data, dict) else None
    given = action.get("kind") if isinstance(action, dict) else None
    similar = get_close_matches(given, ACTIONS, 1) if isinstance(given, str) else ()
    return "".join(f"; did you mean {each}?" for each in similar)


def _of_action(field: str, data: object) -> str:
    """The values that a field of an action takes, or the fields that the action has."""
    action = data.get("action") if isinstance(data, dict) else None
    kind = action.get("kind") if isinstance(action, dict) else None
    cls = ACTIONS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        return ""
    choices = get_args(get_type_hints(cls).get(field))
    if choices and all(isinstance(each, str) for each in choices):
        return f"; it is one of {', '.join(choices)}"
    return "" if field else f"; {kind} has {', '.join(_fields(cls)) or 'no parameters'}"


def _fields(cls: type[Struct]) -> tuple[str, ...]:
    return tuple(cls.__struct_encode_fields__)


def shown(spec: Struct) -> dict[str, Any]:
    """A rule or an order as JSON: the fields that differ from their defaults."""
    built: dict[str, Any] = msgspec.to_builtins(spec)
    return built


def kind_of(action: Action) -> str:
    """The kind of an action, as in JSON."""
    return str(type(action).__struct_config__.tag)


_PRESENT_NAMES: Final = {
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "GROUP_LOAD_IN_PROGRESS": "COORDINATOR_LOAD_IN_PROGRESS",
    "GROUP_COORDINATOR_NOT_AVAILABLE": "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR_FOR_GROUP": "NOT_COORDINATOR",
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "UNKNOWN_TOPIC_OR_PART": "UNKNOWN_TOPIC_OR_PARTITION",
    "TOPIC_EXCEPTION": "INVALID_TOPIC_EXCEPTION",
    "INVALID_TOPIC": "INVALID_TOPIC_EXCEPTION",
    "INVALID_MSG": "CORRUPT_MESSAGE",
    "MSG_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "MESSAGE_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "RECORD_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "INVALID_MSG_SIZE": "INVALID_FETCH_SIZE",
    "STALE_CTRL_EPOCH": "STALE_CONTROLLER_EPOCH",
    "TIMED_OUT": "REQUEST_TIMED_OUT",
}
"""Names that older versions of Kafka, its Java exceptions and librdkafka have."""


def _present_name(given: str) -> str:
    """Kafka's present name, also for that of an exception: `NotLeaderForPartitionException`."""
    if not given.isupper() and "_" not in given:
        given = re.sub(r"(Exception|Error)$", "", given)
        given = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", given)
    name = given.upper().removeprefix("RD_KAFKA_RESP_ERR_")
    return _PRESENT_NAMES.get(name, name)


def code_of(given: str | int) -> Code:
    """An error code by its name, an older name, or its number. Raises CannotFire."""
    try:
        code = Code(given) if isinstance(given, int) else Code[_present_name(given)]
    except ValueError:
        raise CannotFire(f"{given} is none of Kafka's error codes") from None
    except KeyError:
        from difflib import get_close_matches

        similar = get_close_matches(_present_name(str(given)), Code.__members__, 1)
        meant = f"; did you mean {similar[0]}?" if similar else ""
        raise CannotFire(f"{given} is none of Kafka's error codes{meant}") from None
    if code is Code.NONE:
        raise CannotFire("code NONE is no error")
    return code


ACTIONS: Final[dict[str, type[Action]]] = {
    str(cls.__struct_config__.tag): cls for cls in get_args(AnyAction)
}
"""The actions by their kinds."""
