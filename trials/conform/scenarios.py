"""The scenarios: what the broker is given before the program starts, and its faults meanwhile.

Each runs on a broker of its own. A program copies the topic INPUT to OUTPUT
(docs/how-to/conform.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

INPUT: Final = "conform-input"
OUTPUT: Final = "conform-output"
GROUP: Final = "conform-group"
TRANSACTIONAL_ID: Final = "conform-transactions"
_HEARTBEATS: Final = ("Heartbeat", "ConsumerGroupHeartbeat")


class LabFault(NamedTuple):
    """A rule of the lab (docs/reference/lab).

    Attributes:
        needed: whether the program waits for the last records until the fault has fired.
        one_of: faults with the same text are alternatives, such as for two kinds of groups.
        goes_on: whether later rules act, too.
    """

    kind: str
    match: Mapping[str, Any]
    parameters: Mapping[str, Any] = {}  # nothing changes it
    needed: bool = False
    one_of: str = ""
    goes_on: bool = False


class Given(NamedTuple):
    """A state of the broker (docs/reference/lab/states.md).

    Attributes:
        after: whether it comes after the first records, and not before them.
    """

    state: str
    parameters: Mapping[str, Any]
    after: bool = False


class Scenario(NamedTuple):
    """What happens to a program.

    Attributes:
        sentence: what happens, for reports.
        rules: the ids of rules that it exercises; a client may have another way to obey, so that
            not every program exercises all.
        records: of the input at the start, in one transaction if `is_committed`.
        value_bytes: the size that values are filled up to.
        late: records that come when the program has read the first ones.
        position_rule: the rule that is judged by the program's position before the late records.
        wrong_values: the rule that a wrong value in the output breaks.
        work_rule: the rule that a program breaks which does not copy all records.
    """

    name: str
    sentence: str
    rules: Sequence[str] = ()
    faults: Sequence[LabFault] = ()
    given: Sequence[Given] = ()
    nodes: int = 1
    output_partitions: int = 1
    records: int = 24
    value_bytes: int = 0
    late: int = 0
    is_committed: bool = False
    position_rule: str = ""
    wrong_values: str = ""
    work_rule: str = ""

    @property
    def is_calm(self) -> bool:
        """Whether nothing happens that a program could stumble over."""
        return not self.faults and not self.given


def _input(**more: object) -> dict[str, object]:
    return {"topic": INPUT, **more}


def _error(api: str, code: str, *, times: int = 1, **more: Any) -> LabFault:
    return LabFault("error", {"api": api, "times": times, **more}, {"code": code})


def _nth(kind: str, api: str, nth: int = 1, *, on: Mapping[str, object] | None = None,
         **parameters: object) -> LabFault:  # fmt: skip
    return LabFault(kind, {"api": api, "nth": nth, **(on or {})}, parameters)


def _heartbeat(code: str, consumer_code: str) -> tuple[LabFault, ...]:
    """The first heartbeat after the join is refused; the kinds of groups have two APIs."""
    first, since = {"nth": 1}, {"nth": 3}
    return tuple(
        LabFault("error", {"api": api, **counted}, {"code": name}, needed=True, one_of="heartbeat")
        for api, counted, name in zip(
            _HEARTBEATS, (first, since), (code, consumer_code), strict=True
        )
    )


SCENARIOS: Final[tuple[Scenario, ...]] = (
    Scenario(
        "calm",
        "Nothing happens.",
        ("partition-added-first", "end-after-answers", "commit-after-acks", "commit-within-read"),
        is_committed=True,
    ),
    Scenario(
        "produce-answer-lost",
        "The answer to the first Produce is lost, and the connection is closed.",
        ("retry-same-bytes", "sequence-not-reused"),
        (_nth("drop_answer", "Produce", close=True),),
    ),
    Scenario(
        "end-answer-lost",
        "The answer to the first EndTxn is lost, and the connection is closed.",
        ("end-after-answers", "commit-after-acks", "coordinator-looked-up-again"),
        (_nth("drop_answer", "EndTxn", close=True),),
    ),
    Scenario(
        "leader-moves",
        "Another node becomes the leader of the output, then of the input.",
        ("leader-looked-up", "data-to-leader", "leader-epoch-sent", "position-validated"),
        (
            _nth("move_leader", "Produce", 1, on={"topic": OUTPUT}),
            LabFault("move_leader", {"api": "Fetch", "topic": INPUT, "nth": 2}, needed=True),
        ),
        nodes=3,
        late=4,
    ),
    Scenario(
        "coordinator-moves",
        "Another node becomes the coordinator of the transaction before EndTxn is applied.",
        ("coordinator-looked-up",),
        (_nth("move_coordinator", "EndTxn"),),
        nodes=3,
    ),
    Scenario(
        "coordinator-loads",
        "Coordinators answer COORDINATOR_LOAD_IN_PROGRESS for a while.",
        ("retries-wait",),
        tuple(
            _error(api, "COORDINATOR_LOAD_IN_PROGRESS", times=3)
            for api in ("InitProducerId", "EndTxn", "TxnOffsetCommit")
        ),
    ),
    Scenario(
        "concurrent-transactions",
        "The end of the transaction before is not complete: CONCURRENT_TRANSACTIONS.",
        ("retries-wait",),
        (
            _error("InitProducerId", "CONCURRENT_TRANSACTIONS", times=2),
            LabFault(
                "error",
                {"api": "AddPartitionsToTxn", "times": 2},
                {"code": "CONCURRENT_TRANSACTIONS"},
                one_of="transaction",
            ),
            LabFault(
                "error",
                {"api": "Produce", "versions": (12, 99), "topic": OUTPUT, "times": 2},
                {"code": "CONCURRENT_TRANSACTIONS"},
                one_of="transaction",
            ),
        ),
    ),
    Scenario(
        "too-few-replicas",
        "Produce is answered NOT_ENOUGH_REPLICAS three times.",
        ("backoff-grows", "retry-same-bytes"),
        (_error("Produce", "NOT_ENOUGH_REPLICAS", times=3, topic=OUTPUT),),
    ),
    Scenario(
        "throttled",
        "Answers to Produce and Fetch say that the client is throttled.",
        ("throttle-obeyed",),
        tuple(
            LabFault("throttle", {"api": api, "nth": 1}, {"ms": 400, "mutes": False})
            for api in ("Produce", "Fetch")
        ),
    ),
    Scenario(
        "closed-in-flight",
        "The connection is closed while Produce requests are in flight.",
        ("sequence-without-gap", "retry-same-bytes", "five-in-flight"),
        (
            LabFault("delay", {"api": "Produce", "nth": 1}, {"ms": 300}, goes_on=True),
            _nth("drop_answer", "Produce", close=True),
        ),
        # Batches of several partitions, or of few records each, do not fit into one request.
        output_partitions=6,
        value_bytes=20_000,
    ),
    Scenario(
        "aborted-data",
        "The input has aborted transactions before, between and behind the records.",
        ("position-moves", "aborted-not-delivered", "control-not-delivered"),
        given=(
            Given("only_aborted_data", _input(records=5)),
            Given("abort_marker_without_data", _input()),
            Given("only_aborted_data", _input(records=3), after=True),
        ),
        is_committed=True,
        late=4,
        position_rule="past-trailing-marker",
    ),
    Scenario(
        "trailing-marker",
        "The input ends in a marker, and more records come later.",
        ("position-moves", "past-trailing-marker", "control-not-delivered"),
        given=(Given("ends_in_marker", _input(records=6), after=True),),
        late=4,
        position_rule="past-trailing-marker",
    ),
    Scenario(
        "compaction-hole",
        "Compaction has removed the last records of the input, and more come later.",
        ("position-moves", "crosses-holes"),
        given=(
            Given("compacted_hole_at_end", _input(records=10, removed=9)),
            Given("empty_batches", _input(), after=True),
            Given("compacted_hole_at_end", _input(records=10, removed=9), after=True),
        ),
        late=4,
        position_rule="crosses-holes",
    ),
    Scenario(
        "shuffled-aborted-list",
        "Fetch names the aborted transactions in another order than that of their offsets.",
        ("aborted-not-delivered",),
        (LabFault("corrupt", {"api": "Fetch", "topic": INPUT}, {"what": "shuffled_aborted"}),),
        given=[Given("only_aborted_data", _input(records=2)) for _ in range(4)],
        is_committed=True,
    ),
    Scenario(
        "cut-batch",
        "Answers to Fetch end in the middle of a batch, as they may.",
        ("every-record-copied", "position-moves"),
        (_nth("corrupt", "Fetch", on={"topic": INPUT}, what="cut_last_batch"),),
    ),
    Scenario(
        "earlier-records",
        "A batch begins before the offset that Fetch asks for, as it may.",
        ("no-record-twice",),
        (LabFault("corrupt", {"api": "Fetch", "topic": INPUT}, {"what": "earlier_records"}),),
        given=[Given("ends_in_marker", _input(records=6), after=True)],
        late=4,
    ),
    Scenario(
        "bad-crc",
        "The first answer to Fetch has a flipped bit; the log is whole.",
        ("bad-crc-noticed",),
        (_nth("corrupt", "Fetch", on={"topic": INPUT}, what="bit_flip"),),
        wrong_values="bad-crc-noticed",
    ),
    Scenario(
        "unknown-tagged-fields",
        "Answers have tagged fields that no client knows (KIP-482).",
        ("unknown-tags-skipped",),
        (LabFault("corrupt", {}, {"what": "unknown_tags"}),),
        work_rule="unknown-tags-skipped",
    ),
    Scenario(
        "offset-out-of-range",
        "The committed offset of the group is beyond the end of the input.",
        ("range-looked-up", "reset-to-listed-offset"),
        given=(
            Given("offset_out_of_range", {"group": GROUP, "topic": INPUT, "partition": 0}, True),
        ),
    ),
    Scenario(
        "unknown-topic-id",
        "Fetch is answered UNKNOWN_TOPIC_ID once, or UNKNOWN_TOPIC_OR_PARTITION before version 13.",
        ("topic-looked-up",),
        tuple(
            LabFault(
                "error",
                {"api": "Fetch", "versions": versions, "nth": 2, "topic": INPUT},
                {"code": code},
                needed=True,
                one_of="fetch",
            )
            for versions, code in (
                ((13, 99), "UNKNOWN_TOPIC_ID"),
                ((0, 12), "UNKNOWN_TOPIC_OR_PARTITION"),
            )
        ),
        late=4,
    ),
    Scenario(
        "session-forgotten",
        "The broker forgets the fetch session.",
        ("session-begun-again", "session-epoch-grows"),
        (LabFault("forget_session", {"api": "Fetch", "nth": 3}, needed=True),),
        late=4,
    ),
    Scenario(
        "rebalance",
        "The group rebalances while the program waits for records.",
        (
            *("rejoin-in-rebalance", "sync-after-join", "commit-with-current-generation"),
            "heartbeat-in-rebalance",
        ),
        _heartbeat("REBALANCE_IN_PROGRESS", "FENCED_MEMBER_EPOCH"),
        late=4,
    ),
    Scenario(
        "member-fenced",
        "The group no longer knows the member or its generation.",
        ("stale-member-rejoins", "fenced-member-rejoins"),
        _heartbeat("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"),
        late=4,
    ),
    Scenario(
        "offsets-refused",
        "The offsets of a transaction are refused, so that it has to be aborted.",
        ("abort-after-abortable-error", "commit-after-offsets"),
        (_error("TxnOffsetCommit", "GROUP_AUTHORIZATION_FAILED"),),
    ),
    Scenario(
        "old-api-versions",
        "ApiVersions is answered UNSUPPORTED_VERSION, as by an older broker.",
        ("api-versions-downgrade",),
        (
            LabFault(
                "error",
                {"api": "ApiVersions", "versions": (1, 99), "times": 2},
                {"code": "UNSUPPORTED_VERSION"},
            ),
        ),
    ),
)


def scenarios_named(patterns: Sequence[str]) -> list[Scenario]:
    """The scenarios whose names match one of the patterns with *; all of them without a pattern."""
    return [
        each
        for each in SCENARIOS
        if not patterns or any(fnmatchcase(each.name, pattern) for pattern in patterns)
    ]
