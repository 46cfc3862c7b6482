"""The records of `__consumer_offsets`: committed offsets and classic groups, to bytes and back.

Keys and values are Kafka's (OffsetCommitKey/Value, GroupMetadataKey/Value). The first two bytes of
a key are its version, which stands for the type of record. A key without a value is a tombstone.
Values are written in the versions of Kafka 4.1 and read in all versions. Records of other kinds of
groups are in their folders (`group_kinds.py`).
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..protocol.errors import Malformed
from ..protocol.lazy_dataclass import dataclass
from ..protocol.messages import decode_data, decode_offset_key, encode_data
from ..protocol.varints import unsigned
from .group_kinds import GROUP_KINDS, KindRecord

if TYPE_CHECKING:
    from ..protocol.api_types.records import (
        GroupMetadataValue,
        GroupMetadataValueFields,
        LegacyOffsetCommitKey,
        MemberMetadataFields,
        OffsetCommitKey,
        OffsetCommitValue,
    )

OFFSET_KEY_VERSIONS: Final = (0, 1)
OFFSET_KEY_VERSION: Final = 1
GROUP_KEY_VERSION: Final = 2

_NO_TOPIC_ID: Final = uuid.UUID(int=0)

_KEY_HEAD: Final = struct.Struct(">hh")  # version, length of the group's name
_VALUE_1_HEAD: Final = struct.Struct(">hqh")  # version, offset, length of the metadata
_VALUE_4_HEAD: Final = struct.Struct(">hqi")  # version, offset, leader epoch
_TIMES: Final = struct.Struct(">qq")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"  # one tagged field: 0, of 16 bytes


class OffsetCommitted(NamedTuple):
    """A group's position in a partition.

    Attributes:
        leader_epoch: of the last record consumed; -1 when the client did not say.
        commit_timestamp_ms: when the coordinator took the commit.
        expire_timestamp_ms: when the offset expires, if the client set a retention time
            (OffsetCommit 2-4); None for the broker's retention.
        topic_id: of the topic it was committed for. Kafka 4.1 reads it and writes none; beside
            `expire_timestamp_ms` there is no room for it.
    """

    group_id: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = -1
    expire_timestamp_ms: int | None = None
    topic_id: uuid.UUID | None = None


class OffsetRemoved(NamedTuple):
    """A tombstone: removes the committed and the pending offsets of a group for a partition."""

    group_id: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class StoredMember:
    """A member of a classic group, with its subscription and assignment."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes = field(repr=False)
    assignment: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class GroupStored:
    """A classic group between two rebalances: empty, or with members and their assignment.

    Attributes:
        protocol_type: `consumer`, `connect`, ...; empty when no member ever joined.
        protocol: the name of the assignment strategy that was voted for.
        current_state_timestamp_ms: since when the group is empty, or was rebalanced; -1: unknown.
    """

    group_id: str
    protocol_type: str
    generation_id: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int
    members: tuple[StoredMember, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupRemoved:
    """A tombstone of a classic group."""

    group_id: str


ClassicRecord = GroupStored | GroupRemoved
GroupRecord: TypeAlias = OffsetCommitted | OffsetRemoved | ClassicRecord | KindRecord


def encode(record: GroupRecord) -> tuple[bytes, bytes | None]:
    """The key and the value of a record; a tombstone has no value."""
    match record:
        case OffsetCommitted():
            return _offset_key(record), _offset_value(record)
        case OffsetRemoved():
            return _offset_key(record), None
        case GroupStored():
            return _group_key(record.group_id), _group_value(record)
        case GroupRemoved():
            return _group_key(record.group_id), None
        case _:
            return record.encoded()


def decode(key: bytes, value: bytes | None) -> GroupRecord | None:
    """The record of a key and a value; None for an unknown key version.

    Raises:
        Malformed: the key or the value is cut, or the value of an unknown version.
    """
    if len(key) < 2:
        raise Malformed("a key without its version")
    (kind,) = struct.unpack_from(">h", key)
    if kind in OFFSET_KEY_VERSIONS:
        named = decode_offset_key(key)
        if value is None:
            return OffsetRemoved(named.group, named.topic, named.partition)
        return _committed(named, decode_data("OffsetCommitValue", value))
    if kind == GROUP_KEY_VERSION:
        group_id = decode_data("GroupMetadataKey", key).group
        if value is None:
            return GroupRemoved(group_id)
        return _stored(group_id, decode_data("GroupMetadataValue", value))
    decode_kind = _decoder_of(kind)
    return None if decode_kind is None else decode_kind(kind, key, value)


@lru_cache(maxsize=64)
def _decoder_of(key_version: int) -> Callable[[int, bytes, bytes | None], KindRecord] | None:
    """The decoder of the kind of group whose records have this key version; None for no kind."""
    for entry in GROUP_KINDS.values():
        if key_version in entry.key_versions and entry.records_module:
            module = import_module(f".{entry.records_module}", __package__)
            decode_kind: Callable[[int, bytes, bytes | None], KindRecord] = module.decode
            return decode_kind
    return None


def _offset_key(record: OffsetCommitted | OffsetRemoved) -> bytes:
    return _offset_key_head(record.group_id, record.topic) + _INT32.pack(record.partition)


@lru_cache(maxsize=64)
def _offset_key_head(group_id: str, topic: str) -> bytes:
    """All but the partition: a commit has many partitions of a few topics."""
    group, name = group_id.encode(), topic.encode()
    head = _KEY_HEAD.pack(OFFSET_KEY_VERSION, len(group))
    return head + group + _INT16.pack(len(name)) + name


def _offset_value(record: OffsetCommitted) -> bytes:
    """Encoded by hand for speed (a commit has up to 10,000); a test compares it with the codec."""
    metadata = record.metadata.encode()
    if record.expire_timestamp_ms is not None:
        # Only version 1 has room for it (MetadataVersion.offsetCommitValueVersion), and none for
        # the leader epoch: clients that ask for a retention are older than leader epochs.
        head = _VALUE_1_HEAD.pack(1, record.offset, len(metadata))
        return head + metadata + _TIMES.pack(record.commit_timestamp_ms, record.expire_timestamp_ms)
    topic_id = record.topic_id
    return b"".join(
        (
            _VALUE_4_HEAD.pack(4, record.offset, record.leader_epoch),
            unsigned(len(metadata) + 1),
            metadata,
            _INT64.pack(record.commit_timestamp_ms),
            b"\x00" if topic_id is None else _TOPIC_ID_TAG + topic_id.bytes,
        )
    )


def _committed(
    key: OffsetCommitKey | LegacyOffsetCommitKey, value: OffsetCommitValue
) -> OffsetCommitted:
    return OffsetCommitted(
        key.group,
        key.topic,
        key.partition,
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        None if value.expire_timestamp == -1 else value.expire_timestamp,
        None if value.topic_id == _NO_TOPIC_ID else _shared(value.topic_id),
    )


@lru_cache(maxsize=4096)
def _shared(topic_id: uuid.UUID) -> uuid.UUID:
    """The same id for all offsets of a topic: there are many of them."""
    return topic_id


def _group_key(group_id: str) -> bytes:
    return encode_data("GroupMetadataKey", GROUP_KEY_VERSION, {"group": group_id})


def _group_value(record: GroupStored) -> bytes:
    fields: GroupMetadataValueFields = {
        "protocol_type": record.protocol_type,
        "generation": record.generation_id,
        "protocol": record.protocol,
        "leader": record.leader,
        "current_state_timestamp": record.current_state_timestamp_ms,
        "members": [_member_fields(member) for member in record.members],
    }
    return encode_data("GroupMetadataValue", 3, fields)


def _member_fields(member: StoredMember) -> MemberMetadataFields:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rebalance_timeout": member.rebalance_timeout_ms,
        "session_timeout": member.session_timeout_ms,
        "subscription": member.subscription,
        "assignment": member.assignment,
    }


def _stored(group_id: str, value: GroupMetadataValue) -> GroupStored:
    members = tuple(
        StoredMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            # Version 0 knew one timeout only.
            member.session_timeout if member.rebalance_timeout == -1 else member.rebalance_timeout,
            member.session_timeout,
            bytes(member.subscription),
            bytes(member.assignment),
        )
        for member in value.members
    )
    return GroupStored(
        group_id,
        value.protocol_type,
        value.generation,
        value.protocol,
        value.leader,
        value.current_state_timestamp,
        members,
    )
