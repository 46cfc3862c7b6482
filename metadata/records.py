"""The records of the metadata log (KRaft, KIP-500), and their encoding.

A record's value is a frame version, the schema's number, its version and its fields; the first
three are unsigned varints (org.apache.kafka.metadata.MetadataRecordSerde). Records of types that
only Apache Kafka knows are kept unchanged (`ForeignRecord`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from uuid import UUID

from ..protocol import codec
from ..protocol.batch import Bytes
from ..protocol.decoding import Decoder
from ..protocol.errors import Malformed
from ..protocol.lazy_dataclass import dataclass
from ..protocol.messages import encode_data, prepare_data
from ..protocol.varints import read_unsigned

FRAME_VERSION: Final = 1
_VERSION_SIZE: Final = 2  # size of the version that `encode_data` puts in front
NO_LEADER: Final = -1
LEADER_UNCHANGED: Final = -2
ZERO_ID: Final = UUID(int=0)
_BROKER: Final = 4  # ResourceType.BROKER, which needs this module


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """One decision of the controller."""


@dataclass(frozen=True, slots=True)
class TopicRecord(MetadataRecord):
    """A topic was created; its settings and partitions follow."""

    name: str
    topic_id: UUID


@dataclass(frozen=True, slots=True)
class RemoveTopicRecord(MetadataRecord):
    """A topic was deleted, with its partitions and settings."""

    topic_id: UUID


@dataclass(frozen=True, slots=True)
class PartitionRecord(MetadataRecord):
    """A partition at its creation."""

    partition_id: int
    topic_id: UUID
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    directories: tuple[UUID, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class PartitionChangeRecord(MetadataRecord):
    """Changes of a partition; None, -2 (leader) and -1 (recovery) mean: unchanged."""

    partition_id: int
    topic_id: UUID
    isr: tuple[int, ...] | None = None
    leader: int = LEADER_UNCHANGED
    replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    leader_recovery_state: int = -1
    directories: tuple[UUID, ...] | None = None
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ConfigRecord(MetadataRecord):
    """One setting of one resource (ConfigResource.Type); None removes it.

    Its `repr` hides the values of brokers: some are passwords and keys.
    """

    resource_type: int
    resource_name: str
    name: str
    value: str | None

    def __repr__(self) -> str:
        value = "hidden" if self.resource_type == _BROKER and self.value else repr(self.value)
        resource = f"{self.resource_type!r}, {self.resource_name!r}"
        return f"ConfigRecord({resource}, {self.name!r}, {value})"


@dataclass(frozen=True, slots=True)
class FeatureLevelRecord(MetadataRecord):
    """The finalized level of a feature; 0 disables it."""

    name: str
    feature_level: int


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord(MetadataRecord):
    """All producer ids below `next_producer_id` are allocated."""

    broker_id: int
    broker_epoch: int
    next_producer_id: int


@dataclass(frozen=True, slots=True)
class EndPoint:
    """The address of a broker's listener."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


@dataclass(frozen=True, slots=True)
class FeatureRange:
    """The levels of a feature that a broker supports."""

    name: str
    min_supported_version: int
    max_supported_version: int


@dataclass(frozen=True, slots=True)
class RegisterBrokerRecord(MetadataRecord):
    """A broker registered; its epoch is the offset of this record."""

    broker_id: int
    incarnation_id: UUID
    broker_epoch: int
    end_points: tuple[EndPoint, ...]
    features: tuple[FeatureRange, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[UUID, ...] = ()
    is_migrating_zk_broker: bool = False
    cordoned_log_dirs: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True)
class BrokerRegistrationChangeRecord(MetadataRecord):
    """Changes of a broker: 1 fences, -1 unfences, 0 is unchanged."""

    broker_id: int
    broker_epoch: int
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: tuple[UUID, ...] = ()
    cordoned_log_dirs: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True)
class AccessControlEntryRecord(MetadataRecord):
    """An access control entry (its numbers are those of protocol/acls.py)."""

    id: UUID
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@dataclass(frozen=True, slots=True)
class RemoveAccessControlEntryRecord(MetadataRecord):
    """An access control entry was deleted."""

    id: UUID


@dataclass(frozen=True, slots=True)
class UserScramCredentialRecord(MetadataRecord):
    """The verifier of a user's password (RFC 5802); mechanism 1 is SHA-256, 2 is SHA-512."""

    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"UserScramCredentialRecord({self.name!r}, {self.mechanism}, keys hidden)"


@dataclass(frozen=True, slots=True)
class RemoveUserScramCredentialRecord(MetadataRecord):
    """A credential of a user was deleted."""

    name: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class DelegationTokenRecord(MetadataRecord):
    """A delegation token was created or renewed (KIP-48); principals are texts: `User:alice`."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str


@dataclass(frozen=True, slots=True)
class RemoveDelegationTokenRecord(MetadataRecord):
    """A delegation token expired or was removed."""

    token_id: str


@dataclass(frozen=True, slots=True)
class EntityData:
    """One part of a quota's entity; the name None is the default of that type."""

    entity_type: str
    entity_name: str | None


@dataclass(frozen=True, slots=True)
class ClientQuotaRecord(MetadataRecord):
    """One quota of one entity, set or removed (KIP-546)."""

    entity: tuple[EntityData, ...]
    key: str
    value: float = 0.0
    remove: bool = False


@dataclass(frozen=True, slots=True)
class BeginTransactionRecord(MetadataRecord):
    """The records up to the end are applied together or not at all (KIP-868)."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class EndTransactionRecord(MetadataRecord):
    """The records since the begin are applied."""


@dataclass(frozen=True, slots=True)
class AbortTransactionRecord(MetadataRecord):
    """The records since the begin are discarded."""


@dataclass(frozen=True, slots=True)
class ClearElrRecord(MetadataRecord):
    """The eligible leader replicas of a topic are cleared; "" is all topics (KIP-966)."""

    topic_name: str


@dataclass(frozen=True, slots=True)
class NoOpRecord(MetadataRecord):
    """No content; Kafka writes one every half second, so that followers see progress."""


@dataclass(frozen=True, slots=True)
class UnregisterBrokerRecord(MetadataRecord):
    """A broker left the cluster."""

    broker_id: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class ForeignRecord(MetadataRecord):
    """A record of a type unknown to Ottla.

    Attributes:
        number: number of its schema.
        value: the whole value, as in the log.
    """

    number: int
    value: bytes


Struct: TypeAlias = EndPoint | FeatureRange | EntityData
"""A part of a record with fields of its own."""

Item = TypeVar("Item", bound=MetadataRecord | Struct)

# The schema's number, and the version that is written; see `_version_of`.
_WRITTEN: Final[Mapping[type[MetadataRecord], tuple[int, int]]] = {
    RegisterBrokerRecord: (0, 3),
    UnregisterBrokerRecord: (1, 0),
    TopicRecord: (2, 0),
    PartitionRecord: (3, 2),
    ConfigRecord: (4, 0),
    PartitionChangeRecord: (5, 2),
    RemoveTopicRecord: (9, 0),
    DelegationTokenRecord: (10, 0),
    UserScramCredentialRecord: (11, 0),
    FeatureLevelRecord: (12, 0),
    ClientQuotaRecord: (14, 0),
    ProducerIdsRecord: (15, 0),
    BrokerRegistrationChangeRecord: (17, 0),
    AccessControlEntryRecord: (18, 0),
    RemoveAccessControlEntryRecord: (19, 0),
    NoOpRecord: (20, 0),
    RemoveUserScramCredentialRecord: (22, 0),
    BeginTransactionRecord: (23, 0),
    EndTransactionRecord: (24, 0),
    AbortTransactionRecord: (25, 0),
    RemoveDelegationTokenRecord: (26, 0),
    ClearElrRecord: (28, 0),
}
_TYPES: Final = {number: kind for kind, (number, _) in _WRITTEN.items()}
# These records consist of empty tagged fields.
_EMPTY: Final = frozenset({NoOpRecord, EndTransactionRecord, AbortTransactionRecord})


if TYPE_CHECKING:  # mypy fails if a class lacks a field of its schema, or a type differs
    from ..protocol.api_types import records as schemas

    _1: type[schemas.AccessControlEntryRecord] = AccessControlEntryRecord
    _2: type[schemas.BeginTransactionRecord] = BeginTransactionRecord
    _3: type[schemas.BrokerRegistrationChangeRecord] = BrokerRegistrationChangeRecord
    _4: type[schemas.ClearElrRecord] = ClearElrRecord
    _5: type[schemas.ClientQuotaRecord] = ClientQuotaRecord
    _6: type[schemas.ConfigRecord] = ConfigRecord
    _7: type[schemas.DelegationTokenRecord] = DelegationTokenRecord
    _8: type[schemas.FeatureLevelRecord] = FeatureLevelRecord
    _9: type[schemas.PartitionChangeRecord] = PartitionChangeRecord
    _10: type[schemas.PartitionRecord] = PartitionRecord
    _11: type[schemas.ProducerIdsRecord] = ProducerIdsRecord
    _12: type[schemas.RegisterBrokerRecord] = RegisterBrokerRecord
    _13: type[schemas.RemoveAccessControlEntryRecord] = RemoveAccessControlEntryRecord
    _14: type[schemas.RemoveDelegationTokenRecord] = RemoveDelegationTokenRecord
    _15: type[schemas.RemoveTopicRecord] = RemoveTopicRecord
    _16: type[schemas.RemoveUserScramCredentialRecord] = RemoveUserScramCredentialRecord
    _17: type[schemas.TopicRecord] = TopicRecord
    _18: type[schemas.UnregisterBrokerRecord] = UnregisterBrokerRecord
    _19: type[schemas.UserScramCredentialRecord] = UserScramCredentialRecord


def prepare() -> Iterator[str]:
    """Compile the functions for the records, which are compiled late; yields each one's name."""
    for kind, (_, written) in _WRITTEN.items():
        version = _WITH_CORDONED.get(kind, written)
        if kind not in _EMPTY:
            prepare_data(kind.__name__, version)
            _decoder(kind, version)
            _readers[kind] = _reader(kind)
            yield kind.__name__


_WITH_CORDONED: Final = {RegisterBrokerRecord: 4, BrokerRegistrationChangeRecord: 3}


def _version_of(record: MetadataRecord) -> int:
    """The version of a record's schema; a newer one only where it names cordoned directories.

    They are None below metadata.version 30, so that an older Kafka can read the records.
    """
    newer = _WITH_CORDONED.get(type(record))
    if newer is not None and getattr(record, "cordoned_log_dirs", None) is not None:
        return newer
    return _WRITTEN[type(record)][1]


def encode(record: MetadataRecord) -> bytes:
    """The value of a record in the metadata log."""
    if isinstance(record, ForeignRecord):
        return record.value
    number = _WRITTEN[type(record)][0]
    version = _version_of(record)
    front = bytes((FRAME_VERSION, number, version))
    if type(record) in _EMPTY:
        return front + b"\0"
    return front + encode_data(type(record).__name__, version, _fields(record))[_VERSION_SIZE:]


_PARTITION_ID: Final = struct.Struct(">i")
_ID_AT: Final = 3  # the partition's id is the first field behind the front
_but_id: Final = attrgetter(*(each.name for each in fields(PartitionRecord)[1:]))


def encode_all(records: Iterable[MetadataRecord]) -> Iterator[tuple[MetadataRecord, bytes]]:
    """Each record with its `encode`; partitions that differ in their id only are encoded once.

    A new topic of 10,000 partitions is encoded in 10 ms instead of 70.
    """
    known: dict[object, tuple[bytes, bytes]] = {}  # by all fields but the id: bytes around it
    for record in records:
        if type(record) is not PartitionRecord:
            yield record, encode(record)
            continue
        key = _but_id(record)
        around = known.get(key)
        if around is None:
            value = encode(record)
            around = known[key] = value[:_ID_AT], value[_ID_AT + _PARTITION_ID.size :]
        yield record, around[0] + _PARTITION_ID.pack(record.partition_id) + around[1]


def _fields(item: MetadataRecord | Struct) -> dict[str, object]:
    """Name and value of each field, as the codec needs them: tuples as lists, structs as dicts."""
    made: dict[str, object] = {}
    for field in fields(item):
        value: object = getattr(item, field.name)
        if isinstance(value, tuple):
            nested = field.name in _NESTED
            value = [_fields(each) for each in value] if nested else list(value)
        made[field.name] = value
    return made


def decode(value: Bytes) -> MetadataRecord:
    """The record in a value.

    Raises:
        Malformed: the bytes are cut, of another frame version, or of a version that the schema
            does not have (written by a newer Kafka).
    """
    view = memoryview(value)
    try:
        frame_version, position = read_unsigned(view, 0)
        number, position = read_unsigned(view, position)
        version, position = read_unsigned(view, position)
    except IndexError:
        raise Malformed("a metadata record without a header") from None
    if frame_version != FRAME_VERSION:
        raise Malformed(f"a metadata record of frame version {frame_version}")
    kind = _TYPES.get(number)
    if kind is None:
        return ForeignRecord(number, bytes(view))
    if kind in _EMPTY:
        if position == len(view):
            raise Malformed(f"{kind.__name__} ends early")
        return kind()
    decoder = _decoders.get((kind, version)) or _decoder(kind, version)
    read = _readers.get(kind)
    if read is None:
        read = _readers[kind] = _reader(kind)
    try:
        item, position = decoder(view, position)
        record = read(item)
    except Exception as broken:  # the compiled coders raise many exceptions for cut bytes
        raise Malformed(f"{kind.__name__}: {type(broken).__name__}: {broken}") from None
    if position > len(view):
        raise Malformed(f"{kind.__name__} ends early")
    return record


_decoders: dict[tuple[type, int], Decoder] = {}
_readers: dict[type[MetadataRecord], Callable[[object], MetadataRecord]] = {}


def _decoder(kind: type, version: int) -> Decoder:
    """The codec's function, cached per version of a type: a start decodes thousands of records."""
    schema = codec.data_class(kind.__name__)
    lowest, highest = schema.valid_versions
    if not lowest <= version <= highest:
        raise Malformed(f"{kind.__name__} has no version {version}")
    made = _decoders[kind, version] = codec.decoder(schema, version)
    return made


def _reader(kind: type[Item]) -> Callable[[object], Item]:
    """A function from the codec's object to ours."""
    names = [field.name for field in fields(kind)]
    make: Callable[..., Item] = kind

    def read(item: object) -> Item:
        return make(*(_plain(name, getattr(item, name)) for name in names))

    return read


_NESTED: Final[Mapping[str, Callable[[object], object]]] = {
    "end_points": _reader(EndPoint),
    "features": _reader(FeatureRange),
    "entity": _reader(EntityData),
}


def _plain(name: str, value: object) -> object:
    """Lists as tuples, nested structs as our classes, and the zero id as a UUID."""
    if name.endswith("_id") and value is None:
        return ZERO_ID  # the codec reads sixteen zero bytes as None
    if not isinstance(value, list):
        return value
    nested = _NESTED.get(name)
    if nested is not None:
        return tuple(map(nested, value))
    return tuple(ZERO_ID if element is None else element for element in value)
