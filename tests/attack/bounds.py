"""The limits of each attack's effects, in a table; docs/explanation/reliability.md says why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class Bound:
    """Limits of the effects of one attack.

    Attributes:
        stall_ms: the good client's longest wait, less the time that processes wait for a CPU.
        peak_mib: growth of the memory at its peak, from before the attack.
        kept_mib: growth of the memory after the attack, from before it.
        log_lines: lines that the broker logs in the whole run.
        log_lines_a_minute: further ones for each minute of the attack.
        stop_s: time from SIGTERM to the exit.
        client_sees_errors: the good client may see error codes and closed connections.
    """

    stall_ms: float = 50
    peak_mib: float = 64
    kept_mib: float = 48
    log_lines: int = 40
    log_lines_a_minute: int = 0
    stop_s: float = 10
    client_sees_errors: bool = False


USUAL: Final = Bound()

# The limit of all incomplete requests together (broker/net/held_memory.py).
INCOMPLETE_REQUESTS_MIB: Final = 256 + 32

# Clients see errors if the disk fails or the broker halts.
_CLIENT_SEES_ERRORS: Final = replace(USUAL, client_sees_errors=True)

# One large request at a time, and its answer: up to a hundred times its bytes.
_LARGE_MIB: Final = 400

# Removed members and aborted transactions are logged: at most 1,000 lines a minute, and counts.
_LINES_OF_GROUPS: Final = 1200

# Each address has three lines of each kind in a minute, and one about the others; some 20 kinds.
_LINES_OF_LOGINS: Final = replace(USUAL, log_lines=80, log_lines_a_minute=80)

# The same, as each of the 75 APIs is a kind of its own.
_LINES_OF_REQUESTS: Final = replace(USUAL, log_lines=400, log_lines_a_minute=400)

BOUNDS: Final[dict[str, Bound]] = {
    "frames_before_a_login": _LINES_OF_LOGINS,
    "frames_before_a_login_by_tls": _LINES_OF_LOGINS,
    "malformed_frames": _LINES_OF_REQUESTS,
    "frames_by_tls": _LINES_OF_REQUESTS,
    "frames_in_plain_text": _LINES_OF_REQUESTS,
    "broken_handshakes": _LINES_OF_LOGINS,
    "wrong_logins": _LINES_OF_LOGINS,
    # Besides the requests, 60 KB of OpenSSL for each connection.
    "unfinished_logins": replace(_LINES_OF_LOGINS, peak_mib=INCOMPLETE_REQUESTS_MIB + 64),
    "incomplete_frames": replace(USUAL, peak_mib=INCOMPLETE_REQUESTS_MIB),
    # All send at the same moment, and the broker serves them in the order of arrival.
    "many_connections": replace(USUAL, stall_ms=800),
    # The first ConsumerGroupHeartbeat imports its modules.
    "members_that_die_together": replace(USUAL, stall_ms=100, log_lines=_LINES_OF_GROUPS),
    "groups_of_one_member": replace(USUAL, log_lines=_LINES_OF_GROUPS),
    # Each join and each departure has a line, 1,000 a minute.
    "share_members_that_come_and_go": replace(USUAL, log_lines=_LINES_OF_GROUPS),
    # The states of 4,000 records that alternate are one decision of the share coordinator.
    "a_million_acquired_records": replace(USUAL, stall_ms=150, peak_mib=400, kept_mib=400),
    # A heartbeat is one decision, and its topology has 10,000 topics. The 200 empty groups stay
    # until the next cleaning of offsets, as in Kafka: two million names of 106 characters, 155
    # bytes and a reference each.
    "topologies_of_a_megabyte": replace(
        USUAL, stall_ms=400, peak_mib=500, kept_mib=_LARGE_MIB, log_lines=_LINES_OF_GROUPS
    ),
    # One decision creates a topic of 3,000 partitions first. The open transactions have 360,000
    # partitions, which stay in memory.
    "transactions_that_time_out": replace(
        USUAL, stall_ms=150, peak_mib=160, kept_mib=160, log_lines=160
    ),
    # One decision creates a topic of 2,000 partitions first.
    "a_transaction_over_many_partitions": replace(USUAL, stall_ms=150),
    "pipelined_api_versions": replace(USUAL, peak_mib=128),  # a backlog of 289 KB each
    "metadata_of_many_names": replace(USUAL, peak_mib=_LARGE_MIB, kept_mib=96),
    "configs_of_the_broker_again_and_again": replace(USUAL, peak_mib=_LARGE_MIB, kept_mib=96),
    "commit_of_many_partitions": replace(USUAL, peak_mib=_LARGE_MIB, kept_mib=96),
    "list_offsets_of_many_partitions": replace(USUAL, peak_mib=_LARGE_MIB, kept_mib=96),
    "a_disk_that_fills": _CLIENT_SEES_ERRORS,
    "a_start_on_a_full_disk": _CLIENT_SEES_ERRORS,
    "a_deleted_directory": _CLIENT_SEES_ERRORS,
    "a_renamed_directory": _CLIENT_SEES_ERRORS,
    "a_read_only_directory": _CLIENT_SEES_ERRORS,
    "few_descriptors": _CLIENT_SEES_ERRORS,
    # The process is stopped for five seconds.
    "a_stopped_process": replace(USUAL, stall_ms=5200),
}


def bound_of(name: str) -> Bound:
    """The bounds of an attack."""
    return BOUNDS.get(name, USUAL)
