"""The rules of the audit: name, sentence, source, anomaly and severity of each.

An anomaly has the name of Jepsen's checker of Kafka (jepsen.tests.kafka) where that checker has
one: lost-write, duplicate, G1a (aborted read), precommitted-read, inconsistent-offsets,
nonmonotonic-poll, unseen. A torn transaction is committed in a part of its partitions only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from .rows import NONE, evidence


class Severity(StrEnum):
    """How bad a finding is; a notice is legal, and does not change the exit status."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class AuditRule(NamedTuple):
    """One rule.

    Attributes:
        id: its name in reports.
        sentence: the rule, as it should be.
        source: the KIP, class of Kafka or protocol message that it follows.
        anomaly: the effect on readers, if it is broken.
    """

    id: str
    sentence: str
    source: str
    anomaly: str
    severity: Severity = Severity.ERROR


class Finding(NamedTuple):
    """A rule that a log breaks.

    Attributes:
        topic, partition, offset: of the row that breaks it; the topic is empty if there is none.
        text: the finding in one sentence.
        evidence: the rows, as JSON.
        command: the command that repairs it, if there is one.
    """

    rule: str
    text: str
    topic: str = ""
    partition: int = NONE
    offset: int = NONE
    producer_id: int = NONE
    producer_epoch: int = NONE
    transactional_id: str = ""
    evidence: str = "[]"
    command: str = ""

    @property
    def severity(self) -> Severity:
        return RULES[self.rule].severity

    @property
    def anomaly(self) -> str:
        return RULES[self.rule].anomaly

    @property
    def place(self) -> str:
        """Where it is: `orders-0 at 17`, or the transactional id."""
        if not self.topic:
            return self.transactional_id
        at = f" at {self.offset}" if self.offset >= 0 else ""
        return f"{self.topic}-{self.partition}{at}"


LOST: Final = "lost-write"
DUPLICATE: Final = "duplicate"
ABORTED_READ: Final = "G1a"
PRECOMMITTED: Final = "precommitted-read"
INCONSISTENT: Final = "inconsistent-offsets"
BACKWARDS: Final = "nonmonotonic-poll"
UNSEEN: Final = "unseen"
TORN: Final = "torn-transaction"
ZOMBIE: Final = "zombie-write"
BROKEN: Final = "broken-protocol"

_IDEMPOTENCE: Final = "KIP-98, ProducerAppendInfo.checkSequence"
_EPOCHS: Final = "KIP-98, ProducerAppendInfo.checkProducerEpoch"
_MARKERS: Final = "KIP-98, EndTransactionMarker"
_STATES: Final = "KIP-98, TransactionMetadata.prepareTransitionTo"
_INDEX: Final = "KIP-98, AbortedTxn"

_ALL: Final = (
    # One partition
    AuditRule(
        "damaged-batch", "The CRC of each batch is right.", "DefaultRecordBatch.ensureValid", LOST,
    ),
    AuditRule(
        "offset-overlap", "Offsets rise from batch to batch.", "LogValidator", INCONSISTENT,
    ),
    AuditRule(
        "offset-gap", "A log that is not compacted has no hole.", "LogValidator", LOST,
    ),
    AuditRule(
        "leader-epoch-back", "Leader epochs never go back along a log.",
        "KIP-101, LeaderEpochFileCache", INCONSISTENT,
    ),
    AuditRule(
        "sequence-gap", "A producer's sequence numbers have no gap in an epoch.", _IDEMPOTENCE,
        LOST,
    ),
    AuditRule(
        "sequence-duplicate", "No batch of a producer is twice in a log.", _IDEMPOTENCE, DUPLICATE,
    ),
    AuditRule(
        "sequence-back", "A producer's sequence numbers never go back in an epoch.", _IDEMPOTENCE,
        DUPLICATE,
    ),
    AuditRule(
        "sequence-start", "The first sequence number of a new epoch is 0.", _IDEMPOTENCE, LOST,
    ),
    AuditRule(
        "epoch-back", "A producer's epoch never goes back.", _EPOCHS, ZOMBIE,
    ),
    AuditRule(
        "fenced-write", "A producer writes nothing after a marker of a later epoch fenced it.",
        "KIP-98, KIP-890, ProducerStateManager", ZOMBIE,
    ),
    AuditRule(
        "marker-epoch-back", "The epoch of a marker is never below its producer's.", _EPOCHS,
        BROKEN,
    ),
    AuditRule(
        "coordinator-epoch-back", "The coordinator epoch of a producer's markers never goes back.",
        "KIP-98, ProducerAppendInfo.checkCoordinatorEpoch", ZOMBIE,
    ),
    AuditRule(
        "marker-without-transaction",
        "Each marker ends a transaction that has data, or of which the coordinator knows.",
        _MARKERS, BROKEN,
    ),
    AuditRule(
        "marker-repeated", "Each transaction has exactly one marker in each of its partitions.",
        _MARKERS, BROKEN, Severity.WARNING,
    ),
    AuditRule(
        "marker-resent", "A new coordinator may write the markers of its predecessor again.",
        "KIP-98, WriteTxnMarkers", "", Severity.NOTICE,
    ),
    AuditRule(
        "markers-contradict", "No transaction is both committed and aborted on a partition.",
        _MARKERS, TORN,
    ),
    AuditRule(
        "marker-unreadable", "Each control batch of a producer is one marker.", _MARKERS, UNSEEN,
    ),
    AuditRule(
        "plain-batch-in-transaction",
        "A producer with an open transaction writes only transactional batches.",
        "ProducerAppendInfo.appendDataBatch", PRECOMMITTED,
    ),
    AuditRule(
        "transactional-without-producer", "Each transactional batch has a producer id.",
        "DefaultRecordBatch", UNSEEN,
    ),
    AuditRule(
        "aborted-index-missing", "Each aborted transaction is in the index of its segment.", _INDEX,
        ABORTED_READ,
    ),
    AuditRule(
        "aborted-index-extra", "Each entry of the index has its abort marker.", _INDEX, LOST,
    ),
    AuditRule(
        "aborted-index-late", "An entry of the index begins with its transaction.", _INDEX,
        ABORTED_READ,
    ),
    AuditRule(
        "aborted-index-early", "An entry of the index begins behind the producer's last marker.",
        _INDEX, LOST,
    ),
    AuditRule(
        "aborted-index-stable-offset",
        "The last stable offset of an entry is not behind the first open transaction.",
        "TransactionIndex.collectAbortedTxns", ABORTED_READ,
    ),
    # The coordinator's log
    AuditRule(
        "illegal-transition", "States of a transactional id follow each other as allowed.",
        "TransactionState.VALID_PREVIOUS_STATES", BROKEN,
    ),
    AuditRule(
        "state-epoch-back", "The coordinator never takes an epoch back.", _STATES, ZOMBIE,
    ),
    AuditRule(
        "state-producer-changed", "A producer id changes only between transactions.",
        "KIP-360, KIP-890, TransactionMetadata", BROKEN,
    ),
    AuditRule(
        "partitions-lost", "A transaction loses no partition until its markers are written.",
        _STATES, TORN,
    ),
    AuditRule(
        "expired-while-open", "No transactional id expires with an open transaction.",
        "TransactionStateManager.removeExpiredTransactionalIds", LOST,
    ),
    AuditRule(
        "wrong-coordinator", "A transactional id is in the partition of its hash.",
        "TransactionStateManager.partitionFor", BROKEN,
    ),
    AuditRule(
        "state-unreadable", "Each record of the coordinator's log can be decoded.",
        "TransactionLogValue", BROKEN,
    ),
    # The coordinator's log and the partitions
    AuditRule(
        "marker-missing", "A complete transaction has a marker in each of its partitions.",
        _MARKERS, TORN,
    ),
    AuditRule(
        "marker-contradicts-decision", "Each marker is as the coordinator decided.", _MARKERS, TORN,
    ),
    AuditRule(
        "commit-without-decision", "Each committed transaction was decided by the coordinator.",
        "KIP-98, KIP-890", TORN,
    ),
    AuditRule(
        "abort-without-decision", "An operator may abort a transaction without its coordinator.",
        "KIP-664, WriteTxnMarkers", "", Severity.NOTICE,
    ),
    AuditRule(
        "hanging-transaction", "Each open transaction is open for its coordinator too.",
        "KIP-664, KIP-890", UNSEEN,
    ),
    AuditRule(
        "overdue-transaction", "A transaction is aborted when its timeout has passed.",
        "TransactionStateManager.timedOutTransactions", UNSEEN, Severity.WARNING,
    ),
    AuditRule(
        "unfinished-decision", "A decided transaction waits for its markers.",
        "TransactionMarkerChannelManager", "", Severity.NOTICE,
    ),
    AuditRule(
        "epoch-unassigned", "Each epoch of a transactional producer is from its coordinator.",
        "InitProducerId", ZOMBIE,
    ),
    AuditRule(
        "producer-id-shared", "No two transactional ids have one producer id.", "ProducerIdManager",
        BROKEN,
    ),
    AuditRule(
        "producer-id-unallocated", "Each producer id is from a block that the controller gave out.",
        "KIP-730, ProducerIdsRecord", BROKEN,
    ),
    # Committed offsets
    AuditRule(
        "offset-back", "The offset of a group moves forward from transaction to transaction.",
        "KIP-447", BACKWARDS, Severity.WARNING,
    ),
    AuditRule(
        "offset-beside-transaction",
        "No plain commit moves an offset while a transaction holds it.", "KIP-447", DUPLICATE,
    ),
    AuditRule(
        "offset-outside-transaction",
        "A group that commits in transactions moves its offsets only with them.", "KIP-447", LOST,
        Severity.WARNING,
    ),
    AuditRule(
        "offset-beyond-end", "A committed offset is not behind the end of its partition.",
        "OffsetMetadataManager", LOST, Severity.WARNING,
    ),
    AuditRule(
        "wrong-group-coordinator", "The offsets of a group are in the partition of its hash.",
        "GroupCoordinatorService.partitionFor", BROKEN,
    ),
    # Input and output
    AuditRule("key-lost", "Each consumed record is in the output.", "jepsen.tests.kafka", LOST),
    AuditRule(
        "key-duplicated", "No record is in the output twice.", "jepsen.tests.kafka", DUPLICATE,
    ),
    AuditRule(
        "key-from-aborted", "The output has no record of an aborted input.", "jepsen.tests.kafka",
        ABORTED_READ,
    ),
    AuditRule(
        "key-from-open", "The output has no record of an open input.", "jepsen.tests.kafka",
        PRECOMMITTED,
    ),
    AuditRule(
        "key-unexpected", "Each record of the output has an input.", "jepsen.tests.kafka",
        INCONSISTENT,
    ),
)  # fmt: skip

RULES: Final = {rule.id: rule for rule in _ALL}
"""All rules by their ids, in the order of the report."""

__all__ = ["RULES", "AuditRule", "Finding", "Severity", "evidence"]
