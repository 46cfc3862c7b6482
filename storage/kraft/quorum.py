"""`quorum-state`, `bootstrap.checkpoint` and voters: KRaft's data beside its metadata records.

`quorum-state` names the leader of the quorum and its epoch. It is written before the first record
of an epoch, so that no epoch is used twice (org.apache.kafka.raft.FileQuorumStateStore).
`bootstrap.checkpoint` has the initial features from `kafka-storage format` (KIP-778), in a
snapshot's format. Since kraft.version 1 control records in the log name the voters (KIP-853).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from ...protocol.batch import build
from ...protocol.lazy_dataclass import dataclass
from ...protocol.named_tuple import NamedTuple
from ...protocol.varints import read_unsigned, unsigned
from ..disk.files import Files, read_if_exists, write_atomically

QUORUM_STATE: Final = "quorum-state"
BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
STATIC_VOTERS: Final = 0
DYNAMIC_VOTERS: Final = 1
"""Versions of the file: voters named by settings, or by the log itself (KIP-853)."""

_NO_VOTE: Final = -1
_NO_DIRECTORY: Final = "AAAAAAAAAAAAAAAAAAAAAA"

# The key of a control record: version and type.
_LEADER_CHANGE_KEY: Final = struct.pack(">hh", 0, 2)
_SNAPSHOT_HEADER_KEY: Final = struct.pack(">hh", 0, 3)
_SNAPSHOT_FOOTER_KEY: Final = struct.pack(">hh", 0, 4)
_LEADER: Final = struct.Struct(">hi")
_VOTERS: Final = struct.Struct(">BiB")  # number of voters + 1; the voter; no tagged fields
# SnapshotHeaderRecord, version 0: version, last contained timestamp, no tagged fields.
_SNAPSHOT_HEADER: Final = struct.pack(">hqB", 0, 0, 0)
_SNAPSHOT_FOOTER: Final = struct.pack(">hB", 0, 0)
KRAFT_VERSION_TYPE: Final = 5
VOTERS_TYPE: Final = 6
_KEY: Final = struct.Struct(">hh")
_KRAFT_VERSION: Final = struct.Struct(">hhB")  # version; kraft.version; no tagged fields
_VOTER: Final = struct.Struct(">i16s")
_SUPPORTED: Final = struct.pack(">hhB", 0, 1, 0)  # kraft.version 0 to 1; no tagged fields


class ReplicaKey(NamedTuple):
    """A voter: its node and its directory."""

    node_id: int
    directory_id: UUID


class Voter(NamedTuple):
    """A voter, and its address for other controllers."""

    key: ReplicaKey
    listener: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The quorum's leader and epoch.

    Attributes:
        version: version of the file, STATIC_VOTERS or DYNAMIC_VOTERS.
    """

    leader_id: int
    leader_epoch: int
    version: int = STATIC_VOTERS

    def encode(self) -> bytes:
        """The file's content, as in Kafka."""
        leader = f'"leaderId":{self.leader_id},"leaderEpoch":{self.leader_epoch}'
        if self.version == STATIC_VOTERS:
            rest = f'"appliedOffset":0,"currentVoters":[{{"voterId":{self.leader_id}}}]'
            front = '"clusterId":"",'
        else:
            rest, front = f'"votedDirectoryId":"{_NO_DIRECTORY}"', ""
        text = f'{{{front}{leader},"votedId":{_NO_VOTE},{rest},"data_version":{self.version}}}'
        return text.encode()


def read_quorum_state(files: Files, directory: str) -> QuorumState | None:
    """The state in a directory of a metadata log; None if it is missing or damaged."""
    content = read_if_exists(files, f"{directory}/{QUORUM_STATE}")
    if content is None:
        return None
    import json

    try:
        fields = json.loads(content)
        return QuorumState(
            int(fields["leaderId"]), int(fields["leaderEpoch"]), int(fields["data_version"])
        )
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None  # the log's batches also have the epochs


def write_quorum_state(files: Files, directory: str, state: QuorumState) -> None:
    """Write the state to disk, synced. Raises OSError."""
    write_atomically(files, f"{directory}/{QUORUM_STATE}", state.encode(), sync=True)


def leader_change_batch(state: QuorumState, *, timestamp_ms: int) -> bytearray:
    """The control batch with which a leader, elected by itself alone, begins its epoch.

    Apache Kafka reads version 0 of LeaderChangeMessage only, for any voters.
    """
    return _control_batch(
        _LEADER_CHANGE_KEY,
        _LEADER.pack(0, state.leader_id) + 2 * _VOTERS.pack(2, state.leader_id, 0) + b"\0",
        timestamp_ms=timestamp_ms,
        leader_epoch=state.leader_epoch,
    )


def voters_begin(voter: Voter) -> dict[int, tuple[bytes, bytes]]:
    """The control records that switch to kraft.version 1, with one voter."""
    named = b"".join(unsigned(len(text) + 1) + text.encode() for text in voter[1:3])
    listener = named + struct.pack(">HB", voter.port, 0)
    value = (
        struct.pack(">hB", 0, 2)
        + _VOTER.pack(voter.key.node_id, voter.key.directory_id.bytes)
        + unsigned(2)
        + listener
        + _SUPPORTED
        + bytes(2)  # no tagged fields in voter and record
    )
    return {
        KRAFT_VERSION_TYPE: (_KEY.pack(0, KRAFT_VERSION_TYPE), _KRAFT_VERSION.pack(0, 1, 0)),
        VOTERS_TYPE: (_KEY.pack(0, VOTERS_TYPE), value),
    }


def kraft_version_in(value: bytes) -> int:
    """The level in a KRaftVersionRecord."""
    return int(_KRAFT_VERSION.unpack_from(value)[1])


def voters_in(value: bytes) -> tuple[ReplicaKey, ...]:
    """The voters in a VotersRecord. Raises struct.error or IndexError if it is cut."""
    view = memoryview(value)
    count, position = read_unsigned(view, 2)
    voters = []
    for _ in range(count - 1):
        node_id, directory = _VOTER.unpack_from(view, position)
        voters.append(ReplicaKey(node_id, UUID(bytes=directory)))
        listeners, position = read_unsigned(view, position + _VOTER.size)
        for _ in range(listeners - 1):
            for _ in range(2):
                size, position = read_unsigned(view, position)
                position += size - 1
            position = _after_tags(view, position + 2)
        position = _after_tags(view, _after_tags(view, position + 4))
    return tuple(voters)


def _after_tags(value: memoryview, position: int) -> int:
    count, position = read_unsigned(value, position)
    for _ in range(count):
        _, position = read_unsigned(value, position)
        size, position = read_unsigned(value, position)
        position += size
    return position


def write_bootstrap_checkpoint(
    files: Files, directory: str, records: Sequence[bytes], *, timestamp_ms: int
) -> None:
    """Write the initial records of a new cluster into its data directory, synced. Raises OSError.

    A start that finds a damaged file is refused, so a loss of power must not leave a part of it.

    Args:
        records: values of metadata records.
    """
    first = _control_batch(_SNAPSHOT_HEADER_KEY, _SNAPSHOT_HEADER, timestamp_ms=timestamp_ms)
    content = build(
        [(None, record) for record in records], base_offset=1, timestamp_ms=timestamp_ms
    )
    last = _control_batch(
        _SNAPSHOT_FOOTER_KEY,
        _SNAPSHOT_FOOTER,
        timestamp_ms=timestamp_ms,
        base_offset=1 + len(records),
    )
    path = f"{directory}/{BOOTSTRAP_CHECKPOINT}"
    write_atomically(files, path, bytes(first + content + last), sync=True)


def _control_batch(
    key: bytes, value: bytes, *, timestamp_ms: int, leader_epoch: int = 0, base_offset: int = 0
) -> bytearray:
    return build(
        [(key, value)],
        timestamp_ms=timestamp_ms,
        control=True,
        leader_epoch=leader_epoch,
        base_offset=base_offset,
    )
