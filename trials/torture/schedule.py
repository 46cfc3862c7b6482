"""A schedule: how many copies of the application run, what they read, and what happens to them.

A step acts at a request: the n-th of an API by a copy, before or after the broker has applied it.
The tables say which actions there are, and which errors a broker may give to which request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

BEFORE: Final = "before"
AFTER: Final = "after"
EXPELLED: Final = "expelled"
REPLACED: Final = "replaced"
TIMED_OUT: Final = "timed-out"
POINTS: Final = (BEFORE, AFTER)
MEANWHILE: Final = (EXPELLED, REPLACED, TIMED_OUT)
MOST_COPIES: Final = 8
MOST_RECORDS: Final = 10_000
MOST_PARTITIONS: Final = 32
MOST_NTH: Final = 1000
MOST_MS: Final = 3_600_000

APIS: Final = (
    "Produce", "Fetch", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn",
    "TxnOffsetCommit", "EndTxn", "OffsetCommit", "OffsetFetch", "JoinGroup", "SyncGroup",
    "Heartbeat", "LeaveGroup", "ConsumerGroupHeartbeat", "FindCoordinator", "Metadata",
    "ListOffsets", "ShareFetch", "ShareAcknowledge", "ShareGroupHeartbeat",
)  # fmt: skip
"""Requests at which a step may happen."""

OF_PROCESSES: Final = {
    "kill": "kill {copy} with SIGKILL; it is started again",
    "pause": "pause {copy} with SIGSTOP; the others take over meanwhile",
    "stop": "stop {copy} with SIGTERM; it is started again",
    "start": "start one more copy",
    "fence": "fence the producer of {copy}, as a second process with its transactional id does",
    "jump": "let {ms} ms pass",
    "crash": "crash the node that {copy} asks; it is started again",
}
OF_REQUESTS: Final = {
    "error": "answer {code} instead of applying it",
    "delay": "delay it by {ms} ms",
    "throttle": "throttle {copy} for {ms} ms",
    "drop_answer": "lose the answer, and close the connection",
    "drop_request": "lose the request, and close the connection",
    "move_leader": "move the leaders of its partitions",
    "move_coordinator": "move its coordinator",
}
HAZARDS: Final = {
    "apply_late": "close the connection, and apply it {ms} ms later",
    "apply_twice": "apply it twice",
}
"""What a client cannot always survive: requests that arrive late, or twice."""
ACTIONS: Final = OF_PROCESSES | OF_REQUESTS | HAZARDS
NEEDING_NODES: Final = frozenset({"crash", "move_leader", "move_coordinator"})
WITH_MS: Final = {"jump": 61_000, "delay": 200, "throttle": 200, "apply_late": 300}
"""Actions that take a time, with its default."""

_COORDINATOR: Final = ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR")
_LOST_SESSION: Final = ("SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH")
_LOST_MEMBER: Final = ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
ABORTABLE: Final = "TRANSACTION_ABORTABLE"
ERRORS: Final[dict[str, tuple[str, ...]]] = {
    "Produce": (
        ABORTABLE, "NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS",
        "TOPIC_AUTHORIZATION_FAILED",
    ),
    "Fetch": ("NOT_LEADER_OR_FOLLOWER", "FETCH_SESSION_ID_NOT_FOUND"),
    "InitProducerId": (*_COORDINATOR, "CONCURRENT_TRANSACTIONS"),
    "AddPartitionsToTxn": (ABORTABLE, *_COORDINATOR, "CONCURRENT_TRANSACTIONS"),
    "AddOffsetsToTxn": (ABORTABLE, *_COORDINATOR, "CONCURRENT_TRANSACTIONS"),
    "TxnOffsetCommit": (ABORTABLE, *_LOST_MEMBER, *_COORDINATOR),
    "EndTxn": (ABORTABLE, *_COORDINATOR, "CONCURRENT_TRANSACTIONS"),
    "OffsetCommit": (*_LOST_MEMBER, *_COORDINATOR, "REBALANCE_IN_PROGRESS"),
    "OffsetFetch": _COORDINATOR,
    "JoinGroup": _COORDINATOR,
    "SyncGroup": (*_COORDINATOR, "REBALANCE_IN_PROGRESS"),
    "Heartbeat": (*_LOST_MEMBER, *_COORDINATOR, "REBALANCE_IN_PROGRESS"),
    "ConsumerGroupHeartbeat": _COORDINATOR,
    "ShareFetch": ("NOT_LEADER_OR_FOLLOWER", *_LOST_SESSION),
    "ShareAcknowledge": ("NOT_LEADER_OR_FOLLOWER", *_LOST_SESSION),
    "ShareGroupHeartbeat": (*_COORDINATOR, "UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"),
}  # fmt: skip
"""Errors that a broker may give to a request, and that a right application survives."""
FIRST_VERSIONS: Final = {
    ("Produce", ABORTABLE): 11,
    ("AddPartitionsToTxn", ABORTABLE): 5,
    ("AddOffsetsToTxn", ABORTABLE): 4,
    ("TxnOffsetCommit", ABORTABLE): 4,
    ("EndTxn", ABORTABLE): 4,
}
"""The first version of a request that has an error (KIP-890)."""
_WITH_LEADER: Final = ("Produce", "Fetch", "ListOffsets", "ShareFetch", "ShareAcknowledge")
_WITHOUT_COORDINATOR: Final = (*_WITH_LEADER, "FindCoordinator", "Metadata")


class WrongSchedule(Exception):
    """A schedule is wrong; the text has the place, the value, and what is allowed."""


class At(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The request at which a step happens.

    Attributes:
        api: its name in Kafka's protocol.
        nth: it is the n-th of this API by this copy, from 1; also over restarts.
        copy: which copy sends it, from 1.
        point: whether the broker has applied it.
    """

    api: str
    nth: int = 1
    copy: int = 1
    point: str = "before"


class ScheduleStep(
    Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True
):
    """What happens at a request.

    Attributes:
        do: the name of an action.
        at: when.
        code: of `error`: the name of an error code.
        ms: of actions with a time; 0: its default.
        meanwhile: of `pause`: what happens to the copy. `expelled`: its group gives its partitions
            to others. `replaced`: another process takes its place, with its transactional id.
            `timed-out`: its sessions and its transaction time out.
    """

    do: str
    at: At
    code: str = ""
    ms: int = 0
    meanwhile: str = ""

    @property
    def time_ms(self) -> int:
        """The time of its action."""
        return self.ms or WITH_MS.get(self.do, 0)

    @property
    def is_of_processes(self) -> bool:
        """Whether the runner acts, while the request is held."""
        return self.do in OF_PROCESSES

    def __str__(self) -> str:
        copy = f"copy {self.at.copy}"
        text = ACTIONS[self.do].format(copy=copy, code=self.code, ms=self.time_ms)
        if self.do == "pause":
            text += f" ({self.meanwhile or EXPELLED})"
        if self.do in OF_REQUESTS or self.do in HAZARDS:
            return f"{copy}, {self.at.api} {self.at.nth}: {text}"
        applied = "is applied" if self.at.point == BEFORE else "was applied"
        when = f"{'before' if self.at.point == BEFORE else 'after'} its {self.at.api}"
        if self.do in ("start", "jump"):
            when = f"{self.at.point} {self.at.api}"
            return f"{text}, {when} {self.at.nth} of {copy} {applied}"
        return f"{text}, {when} {self.at.nth} {applied}"


class Data(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What the application reads.

    Attributes:
        records: committed records, each with a value of its own.
        aborted: records of aborted transactions between them.
        partitions, output_partitions: of the topics.
        transactional: whether the records are written in transactions.
        portions: the records come in so many parts, the next when the one before is done.
    """

    records: int = 12
    aborted: int = 3
    partitions: int = 2
    output_partitions: int = 2
    transactional: bool = True
    portions: int = 3


class Schedule(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A run: copies, data, and steps."""

    copies: int = 2
    data: Data = Data()
    steps: tuple[ScheduleStep, ...] = ()

    @property
    def nodes(self) -> int:
        """The nodes of the broker: three if a leader, a coordinator or a node goes."""
        return 3 if any(each.do in NEEDING_NODES for each in self.steps) else 1

    @property
    def most_copies(self) -> int:
        """The copies with those that steps start."""
        return self.copies + sum(each.do == "start" for each in self.steps)


def check_schedule(schedule: Schedule) -> None:
    """Check what the types leave open. Raises WrongSchedule."""
    for wrong in _wrong_numbers(schedule):
        raise WrongSchedule(wrong)
    for number, step in enumerate(schedule.steps):
        for wrong in wrong_in_step(step, schedule.most_copies):
            raise WrongSchedule(f"steps[{number}].{wrong}")


def _wrong_numbers(schedule: Schedule) -> Iterator[str]:
    data = schedule.data
    for name, value, low, high in (
        ("copies", schedule.copies, 1, MOST_COPIES),
        ("data.records", data.records, 1, MOST_RECORDS),
        ("data.aborted", data.aborted, 0, MOST_RECORDS),
        ("data.partitions", data.partitions, 1, MOST_PARTITIONS),
        ("data.output_partitions", data.output_partitions, 1, MOST_PARTITIONS),
        ("data.portions", data.portions, 1, data.records),
    ):
        if not low <= value <= high:
            yield f"{name}: {value} must be from {low} to {high}"


def wrong_in_step(step: ScheduleStep, copies: int) -> Iterator[str]:
    """What is wrong in a step, with the field first."""
    if step.do not in ACTIONS:
        yield _one_of("do", step.do, ACTIONS)
        return
    if step.at.api not in APIS:
        yield _one_of("at.api", step.at.api, APIS)
    for name, value, high in (("nth", step.at.nth, MOST_NTH), ("copy", step.at.copy, copies)):
        if not 1 <= value <= high:
            yield f"at.{name}: {value} must be from 1 to {high}"
    if step.do == "error":
        allowed = ERRORS.get(step.at.api, ())
        if step.code not in allowed:
            yield _one_of("code", step.code or "(none)", allowed or ("no error here",))
    elif step.code:
        yield f"code: {step.code} is only for do: error"
    if step.do in WITH_MS:
        if not 0 <= step.ms <= MOST_MS:
            yield f"ms: {step.ms} must be from 0 to {MOST_MS}"
    elif step.ms:
        yield f"ms: {step.ms} is only for do: {', '.join(WITH_MS)}"
    if step.at.point not in POINTS:
        yield _one_of("at.point", step.at.point, POINTS)
    if step.meanwhile and step.meanwhile not in MEANWHILE:
        yield _one_of("meanwhile", step.meanwhile, MEANWHILE)
    if step.meanwhile and step.do != "pause":
        yield f"meanwhile: {step.meanwhile} is only for do: pause"
    if step.do == "move_leader" and step.at.api not in _WITH_LEADER:
        yield _one_of("at.api", step.at.api, _WITH_LEADER)
    if step.do == "move_coordinator" and step.at.api in _WITHOUT_COORDINATOR:
        fit = [each for each in APIS if each not in _WITHOUT_COORDINATOR]
        yield _one_of("at.api", step.at.api, fit)
    if step.at.point == AFTER and not (step.is_of_processes or step.do == "delay"):
        yield f"at.point: after is only for do: delay, {', '.join(OF_PROCESSES)}"


def _one_of(name: str, value: str, allowed: Sequence[str] | dict[str, str]) -> str:
    return f"{name}: {value} is none of {', '.join(allowed)}"
