"""Client quotas of users, clients and addresses, as stored in the metadata log.

Pure, like the catalog (KIP-546, KIP-612). Errors, with Kafka's messages, are those of
org.apache.kafka.controller.ClientQuotaControlManager and org.apache.kafka.image.ClientQuotasImage;
broker/runtime/quotas/quotas.py enforces the quotas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Final

from ..protocol.errors import Code, Refused
from ..protocol.java_hash import (
    cached_hash_code,
    hash_map_capacity,
    hash_map_slot,
    in_hash_map,
    java_hash_code,
)
from ..protocol.named_tuple import NamedTuple
from .records import ClientQuotaRecord, EntityData, MetadataRecord

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
_TYPES: Final = (USER, CLIENT_ID, IP)

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

# The type of each quota in Kafka and its limit; None is a double, which may be fractional.
_LARGEST: Final[Mapping[str, tuple[str, float] | None]] = {
    PRODUCER_BYTE_RATE: ("a LONG", float(2**63)),
    CONSUMER_BYTE_RATE: ("a LONG", float(2**63)),
    REQUEST_PERCENTAGE: None,
    CONTROLLER_MUTATION_RATE: None,
    CONNECTION_CREATION_RATE: ("an INT", 2**31 - 1),
}
_OF_ADDRESSES: Final = (CONNECTION_CREATION_RATE,)
_OF_CLIENTS: Final = tuple(key for key in _LARGEST if key not in _OF_ADDRESSES)
_NOTHING: Final[Mapping[str, float]] = {}

MATCH_EXACT: Final = 0
MATCH_DEFAULT: Final = 1
MATCH_SPECIFIED: Final = 2

Entity = tuple[tuple[str, str | None], ...]
"""The entity of a quota: type and name of each part, sorted by type; None is the default name."""


class Alteration(NamedTuple):
    """Requested changes of one entity; a value of None removes the quota."""

    entity: Sequence[tuple[str, str | None]]
    changes: Sequence[tuple[str, float | None]]


class Component(NamedTuple):
    """One part of a filter."""

    entity_type: str
    match_type: int
    match: str | None


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Entity:
    """An entity from its parts in any order."""
    return tuple(sorted(dict(parts).items()))


def _entity_of_record(record: ClientQuotaRecord) -> Entity:
    if len(record.entity) == 1:  # three times as fast
        (part,) = record.entity
        return ((part.entity_type, part.entity_name),)
    return entity_of((part.entity_type, part.entity_name) for part in record.entity)


class ClientQuotas:
    """The quotas of all entities.

    Attributes:
        by_entity: value of each quota, in Apache Kafka's order within an entity; read-only for
            callers.
        changes: number of replayed records.
    """

    def __init__(self) -> None:
        self.by_entity: dict[Entity, dict[str, float]] = {}
        self.changes = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientQuotas) and self.by_entity == other.by_entity

    def describe(
        self, components: Sequence[Component], *, strict: bool
    ) -> Iterator[tuple[int, Entity, Mapping[str, float]]]:
        """DescribeClientQuotas: the entities that have all the parts; if strict, no other parts.

        Parts and quotas have the order of Apache Kafka's HashMaps; the number of each entity is its
        place in one, by which the caller sorts the entities. They are those of this moment.

        Raises:
            Refused: INVALID_REQUEST, UNSUPPORTED_VERSION.
        """
        exact, specified = _parsed(components)
        capacity = hash_map_capacity(len(self.by_entity), first_capacity=1)
        return (
            (hash_map_slot(_hash_of_entity(entity), capacity), _parts_in_order(entity), quotas)
            for entity, quotas in list(self.by_entity.items())
            if _matches(dict(entity), exact, specified, strict=strict)
        )

    def alter(
        self, alterations: Sequence[Alteration], *, is_address: Callable[[str], bool]
    ) -> tuple[dict[Entity, Refused | None], tuple[ClientQuotaRecord, ...]]:
        """AlterClientQuotas: the result for each entity, and the records of the valid ones.

        Args:
            is_address: whether a text is an IP address or a resolvable host name.
        """
        decision = self.decision(is_address=is_address)
        for alteration in alterations:
            decision.add(alteration)
        return decision.results, decision.records()

    def decision(self, *, is_address: Callable[[str], bool]) -> Decision:
        """Begin a decision on a request; `is_address` as in `alter`."""
        return Decision(self, is_address)

    def changed(
        self, entity: Entity, changes: Mapping[str, float | None], allowed: Sequence[str]
    ) -> list[ClientQuotaRecord]:
        """The records of the changes of an entity. Raises Refused."""
        present = self.by_entity.get(entity, _NOTHING)
        parts = tuple(EntityData(*part) for part in entity)
        records: list[ClientQuotaRecord] = []
        # Quotas new to the entity follow the others in this order.
        for key in in_hash_map(changes, java_hash_code):
            value = changes[key]
            if value is None:
                if key in present:
                    records.append(ClientQuotaRecord(parts, key, remove=True))
                continue
            _check_value(key, value, allowed)
            if present.get(key) != value:
                records.append(ClientQuotaRecord(parts, key, value))
        return records

    def replay(self, record: ClientQuotaRecord) -> None:
        """Apply a record."""
        self.changes += 1
        entity = _entity_of_record(record)
        before = self.by_entity.get(entity, _NOTHING)
        quotas = dict(before)
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if quotas:
            if len(quotas) > 1:
                keys = in_hash_map(quotas, java_hash_code, first_capacity=1)
                quotas = {key: quotas[key] for key in keys}
            self.by_entity[entity] = quotas
        else:
            self.by_entity.pop(entity, None)

    def records(self) -> Iterator[MetadataRecord]:
        """The state as records, for a snapshot."""
        return (
            ClientQuotaRecord(tuple(EntityData(*part) for part in entity), key, value)
            for entity, quotas in self.by_entity.items()
            for key, value in quotas.items()
        )


class Decision:
    """A decision on a request to change quotas, entity by entity.

    Attributes:
        results: of the entities so far.
    """

    def __init__(self, quotas: ClientQuotas, is_address: Callable[[str], bool]) -> None:
        self._quotas = quotas
        self._is_address = is_address
        self._changes = quotas.changes
        self.results: dict[Entity, Refused | None] = {}
        self._records: list[ClientQuotaRecord] = []

    @property
    def is_outdated(self) -> bool:
        """Whether quotas have changed since it began."""
        return self._changes != self._quotas.changes

    def add(self, alteration: Alteration) -> None:
        """Decide on one entity."""
        entity = entity_of(alteration.entity)
        changes = dict(alteration.changes)
        if len(changes) < len(alteration.changes) or entity in self.results:
            why = f"Ignoring duplicate entity {_text(entity)}"
            self.results[entity] = Refused(Code.INVALID_REQUEST, why)
            return
        try:
            allowed = _allowed_keys(entity, self._is_address)
            self._records += self._quotas.changed(entity, changes, allowed)
        except Refused as refused:
            self.results[entity] = refused
        else:
            self.results[entity] = None

    def records(self) -> tuple[ClientQuotaRecord, ...]:
        """The records of the valid ones so far."""
        return tuple(self._records)


def _hash_of_entity(entity: Entity) -> int:
    """The result of java.util.Objects.hash for a map of the parts; null has 0."""
    parts = (
        cached_hash_code(kind) ^ (0 if name is None else java_hash_code(name))
        for kind, name in entity
    )
    return 31 + sum(parts)


def _parts_in_order(entity: Entity) -> Entity:
    if len(entity) == 1:
        return entity
    return tuple(in_hash_map(entity, lambda part: java_hash_code(part[0])))


def _text(entity: Entity) -> str:
    """The entity in Kafka's notation (ClientQuotaEntity)."""
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _refused(why: str) -> Refused:
    return Refused(Code.INVALID_REQUEST, why)


def _allowed_keys(entity: Entity, is_address: Callable[[str], bool]) -> Sequence[str]:
    """The quotas that an entity may have. Raises Refused."""
    if not entity:
        raise _refused("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in _TYPES:
            raise _refused(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _refused(f"Empty {kind} not supported")
    parts = dict(entity)
    if IP not in parts:
        return _OF_CLIENTS
    if len(parts) > 1:
        raise _refused(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId"
        )
    address = parts[IP]
    if address is not None and not is_address(address):
        raise _refused(f"{address} is not a valid IP or resolvable host.")
    return _OF_ADDRESSES


def _check_value(key: str, value: float, allowed: Sequence[str]) -> None:
    if key not in allowed:
        raise _refused(f"Invalid configuration key {key}")
    if not isfinite(value):
        raise _refused(f"Quota {key} must be a finite number")
    if value <= 0:
        raise _refused(f"Quota {key} must be greater than 0")
    limit = _LARGEST[key]
    if limit is None:
        return
    kind, largest = limit
    if value > largest:
        raise _refused(f"Proposed value for {key} is too large for {kind}.")
    if math.fabs(math.fmod(value, 1.0)) > 1e-6:
        raise _refused(f"{key} cannot be a fractional value.")


def _parsed(components: Sequence[Component]) -> tuple[dict[str, str | None], set[str]]:
    """The required name for each type, and the types of which any name matches."""
    exact: dict[str, str | None] = {}
    specified: set[str] = set()
    for kind, match_type, match in components:
        if not kind:
            raise _refused("Invalid empty entity type.")
        if kind in exact or kind in specified:
            raise _refused(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in _TYPES:
            raise Refused(Code.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if match_type == MATCH_EXACT:
            if match is None:
                raise _refused("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            exact[kind] = match
        elif match_type in (MATCH_DEFAULT, MATCH_SPECIFIED):
            if match is not None:
                name = "DEFAULT" if match_type == MATCH_DEFAULT else "SPECIFIED"
                raise _refused(
                    f"Request specified MATCH_TYPE_{name}, but also specified a match string."
                )
            if match_type == MATCH_DEFAULT:
                exact[kind] = None
            else:
                specified.add(kind)
        else:
            raise _refused(f"Unknown match type {match_type}")
    used = exact.keys() | specified
    if IP in used and len(used) > 1:
        raise _refused(
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )
    return exact, specified


def _matches(
    parts: Mapping[str, str | None],
    exact: Mapping[str, str | None],
    specified: set[str],
    *,
    strict: bool,
) -> bool:
    if strict and len(parts) != len(exact) + len(specified):
        return False
    return (
        exact.keys() <= parts.keys()
        and all(parts[kind] == name for kind, name in exact.items())
        and specified <= parts.keys()
    )
