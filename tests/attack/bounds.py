"""What each attack may cost the others, in one table; docs/RELIABILITY.md says why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Bound:
    """What is allowed.

    Attributes:
        stall_ms: the good client's longest wait, without what processes wait for a processor.
        peak_mib: memory at the peak, above what it was before the attack.
        kept_mib: memory after the attack, above what it was before.
        log_lines: of the whole run.
        stop_s: from SIGTERM to the end.
        client_sees_errors: the good client may see error codes and closed connections.
    """

    stall_ms: float = 50
    peak_mib: float = 64
    kept_mib: float = 48
    log_lines: int = 40
    stop_s: float = 10
    client_sees_errors: bool = False


USUAL: Final = Bound()

# What requests that have not all come yet may hold together (broker/net/held_memory.py).
IN_HAND_MIB: Final = 256 + 32

# Where the disk or the broker is taken away, clients see it.
_TAKEN_AWAY: Final = replace(USUAL, client_sees_errors=True)

# One request with very many elements at a time, and its answer: up to a hundred times its bytes.
_LARGE_MIB: Final = 400

BOUNDS: Final[dict[str, Bound]] = {
    "half_frames": replace(USUAL, peak_mib=IN_HAND_MIB),
    # They ask in the same moment, and are served in the order in which they came.
    "many_connections": replace(USUAL, stall_ms=800),
    # The first heartbeat of the consumer protocol imports what it needs.
    "members_that_die_together": replace(USUAL, stall_ms=100),
    # A topic of 3,000 partitions is made first, by one decision; 360,000 partitions of open
    # transactions belong to the data.
    "transactions_that_time_out": replace(USUAL, stall_ms=150, peak_mib=160, kept_mib=160),
    # A topic of 2,000 partitions is made first, by one decision.
    "a_transaction_over_many_partitions": replace(USUAL, stall_ms=150),
    "pipelined_api_versions": replace(USUAL, peak_mib=128),  # a backlog of 289 KB each
    "metadata_of_many_names": replace(USUAL, peak_mib=_LARGE_MIB, kept_mib=96),
    "configs_of_the_broker_again_and_again": replace(USUAL, peak_mib=_LARGE_MIB, kept_mib=96),
    "commit_of_many_partitions": replace(USUAL, peak_mib=_LARGE_MIB, kept_mib=96),
    "list_offsets_of_many_partitions": replace(USUAL, peak_mib=_LARGE_MIB, kept_mib=96),
    "a_disk_that_fills": _TAKEN_AWAY,
    "a_start_on_a_full_disk": _TAKEN_AWAY,
    "a_deleted_directory": _TAKEN_AWAY,
    "a_renamed_directory": _TAKEN_AWAY,
    "a_read_only_directory": _TAKEN_AWAY,
    "few_descriptors": _TAKEN_AWAY,
    # It stands still for five seconds.
    "a_stopped_process": replace(USUAL, stall_ms=5200),
}


def bound_of(name: str) -> Bound:
    """The bounds of an attack."""
    return BOUNDS.get(name, USUAL)
