"""How much work is done at once, and when failed work is repeated.

The values are the broker's own and no settings of Kafka. A test gives others to a node.
"""

from __future__ import annotations

from ...protocol.named_tuple import NamedTuple


class WorkLimits(NamedTuple):
    """The limits of one process.

    Attributes:
        metadata_batch_records: the largest number of records in a batch of the metadata log, if
            a decision may be several (QuorumController.MAX_RECORDS_PER_BATCH).
        logs_made_at_once: of the partitions that are created within `logs_wait_ms`, the logs that
            are created with them; the others follow.
        logs_made_in_a_turn: the number of these others in a turn of the event loop. One takes
            0.1 to 0.5 ms.
        logs_wait_ms: the pause before each of these turns, for the requests of clients.
        load_at_once_bytes: logs of coordinators up to this total size are loaded in the same turn.
        load_slice_s: larger logs are loaded in slices of this time, with requests between them.
        markers_at_once: of a transaction, the markers that its node writes in the turn of the
            decision. One takes 25 us of a processor.
        marker_retry_ms: the wait after the first failure to send markers; each failure doubles it.
        marker_retry_max_ms: the longest of these waits.
        awaited_partitions: the largest number of pairs of a waiting Fetch and a partition, of 100
            bytes each; beyond it, a Fetch does not wait.
    """

    metadata_batch_records: int = 10_000
    logs_made_at_once: int = 10
    logs_made_in_a_turn: int = 5
    logs_wait_ms: int = 2
    load_at_once_bytes: int = 16 << 10
    load_slice_s: float = 0.002
    markers_at_once: int = 50
    marker_retry_ms: int = 50
    marker_retry_max_ms: int = 1000
    awaited_partitions: int = 500_000


WORK_LIMITS = WorkLimits()
