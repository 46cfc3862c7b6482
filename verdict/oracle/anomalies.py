"""The anomalies that the oracle finds: name, sentence, source, and whether Kafka allows them.

Names are those of Jepsen's checker of Kafka (jepsen.tests.kafka) where it has one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from ...audit.rules import (
    ABORTED_READ,
    BACKWARDS,
    DUPLICATE,
    INCONSISTENT,
    LOST,
    PRECOMMITTED,
    TORN,
    UNSEEN,
    ZOMBIE,
)


class Forbidden(StrEnum):
    """From which isolation level of the reader on an anomaly must not happen."""

    ALWAYS = "read_uncommitted"
    READ_COMMITTED = "read_committed"
    NEVER = "-"


class Anomaly(NamedTuple):
    """One kind of anomaly.

    Attributes:
        sentence: what is wrong.
        source: the name's origin, and the promise of Kafka that it breaks.
        kafka: when Kafka allows it.
        forbidden: from this level on it must not happen; those that are never forbidden are
            notices and do not change the exit status.
    """

    id: str
    sentence: str
    source: str
    kafka: str
    forbidden: Forbidden

    @property
    def is_notice(self) -> bool:
        return self.forbidden == Forbidden.NEVER


POLL_SKIP: Final = "poll-skip"
INT_POLL_SKIP: Final = "int-poll-skip"
INT_BACKWARDS: Final = "int-nonmonotonic-poll"
SEND_BACKWARDS: Final = "nonmonotonic-send"
INT_SEND_BACKWARDS: Final = "int-nonmonotonic-send"
INT_SEND_SKIP: Final = "int-send-skip"
NEVER_SENT: Final = "never-sent"
G0: Final = "G0"
G1C: Final = "G1c"
G1C_WRITES: Final = "G1c-ww"
OFFSETS_ALONE: Final = "offsets-without-output"
OUTPUT_ALONE: Final = "output-without-offsets"
LOST_OFFSETS: Final = "lost-offsets"

_JEPSEN: Final = "jepsen.tests.kafka"
_ORDER: Final = "one partition is one order of records"
_NOT: Final = "no"
_ALWAYS: Final = Forbidden.ALWAYS
_COMMITTED: Final = Forbidden.READ_COMMITTED

_ALL: Final = (
    Anomaly(
        LOST, "A record that was acknowledged is passed over by every reader.",
        f"{_JEPSEN}; KIP-98: acks=all", "with acks below all, or unclean leader election", _ALWAYS,
    ),
    Anomaly(
        DUPLICATE, "A value that was sent once is at two offsets.",
        f"{_JEPSEN}; KIP-98: idempotence", "without idempotence", _ALWAYS,
    ),
    Anomaly(
        INCONSISTENT, "An offset has two values.", f"{_JEPSEN}; {_ORDER}",
        "with unclean leader election", _ALWAYS,
    ),
    Anomaly(
        NEVER_SENT, "A reader gets a value that no process sent.",
        "the ledger: each sender of a partition writes it", _NOT, _ALWAYS,
    ),
    Anomaly(
        UNSEEN, "An acknowledged record is behind the end that readers can reach.",
        f"{_JEPSEN}; KIP-98: the last stable offset", "while an older transaction is open", _ALWAYS,
    ),
    Anomaly(
        ABORTED_READ, "A reader gets a record that failed, or whose transaction was aborted.",
        f"{_JEPSEN} (aborted read); KIP-98", "with read_uncommitted", _COMMITTED,
    ),
    Anomaly(
        PRECOMMITTED, "A reader gets a record before the commit of its transaction begins.",
        f"{_JEPSEN}; KIP-98", "with read_uncommitted", _COMMITTED,
    ),
    Anomaly(
        TORN, "A part of a transaction is seen, and readers pass over another part.",
        "KIP-98: a transaction is atomic over partitions", _NOT, _COMMITTED,
    ),
    Anomaly(
        POLL_SKIP, "Two polls of a process pass over a record that another reader gets.",
        f"{_JEPSEN}; {_ORDER}", _NOT, _ALWAYS,
    ),
    Anomaly(
        BACKWARDS, "A poll of a process goes back without a new assignment.",
        f"{_JEPSEN}; {_ORDER}", _NOT, _ALWAYS,
    ),
    Anomaly(
        INT_POLL_SKIP, "Inside a poll or a transaction a record is passed over.",
        f"{_JEPSEN}; {_ORDER}", _NOT, _ALWAYS,
    ),
    Anomaly(
        INT_BACKWARDS, "Inside a poll or a transaction offsets go back.",
        f"{_JEPSEN}; {_ORDER}", _NOT, _ALWAYS,
    ),
    Anomaly(
        SEND_BACKWARDS, "A send gets a lower offset than an earlier one of its process.",
        f"{_JEPSEN}; {_ORDER}", "with unclean leader election", _ALWAYS,
    ),
    Anomaly(
        INT_SEND_BACKWARDS, "Inside a send or a transaction a later record has a lower offset.",
        f"{_JEPSEN}; KIP-98: sequence numbers", "without idempotence", _ALWAYS,
    ),
    Anomaly(
        INT_SEND_SKIP, "Between two records of a transaction is one of another.",
        f"{_JEPSEN}; KIP-98: writes are not isolated", "yes", Forbidden.NEVER,
    ),
    Anomaly(
        G0, "Transactions write over each other in a circle.",
        f"{_JEPSEN} (write cycle); KIP-98: writes are not isolated", "yes", Forbidden.NEVER,
    ),
    Anomaly(
        G1C, "Each transaction of a circle reads what the next one writes.",
        f"{_JEPSEN}; KIP-98: a read record is committed before", "with read_uncommitted",
        _COMMITTED,
    ),
    Anomaly(
        G1C_WRITES, "A circle of transactions that read or write after each other.",
        f"{_JEPSEN} (G1c with ww edges); KIP-98: writes are not isolated", "yes", Forbidden.NEVER,
    ),
    Anomaly(
        OFFSETS_ALONE, "A group has offsets of a transaction whose output is not committed.",
        "KIP-98, KIP-447: offsets commit with the output", _NOT, _ALWAYS,
    ),
    Anomaly(
        OUTPUT_ALONE, "A transaction's output is committed, and its offsets are not.",
        "KIP-98, KIP-447: offsets commit with the output", _NOT, _ALWAYS,
    ),
    Anomaly(
        LOST_OFFSETS, "A group goes on from other offsets than those it committed.",
        "OffsetCommit: the last commit counts", "after offsets.retention.minutes", _ALWAYS,
    ),
    Anomaly(
        ZOMBIE, "A producer writes or commits after another one took its transactional id.",
        "KIP-98, KIP-360: fencing", _NOT, _ALWAYS,
    ),
)  # fmt: skip

ANOMALIES: Final = {each.id: each for each in _ALL}
"""All anomalies by their ids, in the order of the report."""


def table() -> str:
    """The table of anomalies for docs/reference/oracle.md, with a line break at its end."""
    lines = ["| anomaly | it says | Kafka allows it | not from | source |", "|---|---|---|---|---|"]
    lines += [
        f"| {each.id} | {each.sentence} | {each.kafka} | {each.forbidden} | {each.source} |"
        for each in _ALL
    ]
    return "\n".join(lines) + "\n"
