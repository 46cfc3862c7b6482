"""Ids that each broker draws by itself, in pairs, and requests that are translated by them.

Two brokers give the same topic, producer, member or fetch session different ids. A pair is learned
where both ids first appear at the same place of two answers; from then on one stands for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final
from uuid import UUID

from ...protocol.api_keys import ApiKey
from ...protocol.batch import CRC_POSITION, HEADER_SIZE, crc_is_right, headers_in, read_header, seal
from .messages import Fields, Request, schema, with_fields

NODE: Final = "node id"
PRODUCER: Final = "producer id"
MEMBER: Final = "member id"
SESSION: Final = "fetch session"
UUIDS: Final = "uuid"
_NO_UUID: Final = UUID(int=0)
_OLD: Final = "v3_and_below_"

_KINDS: Final = {
    "producer_id": PRODUCER,
    "session_id": SESSION,
    "node_id": NODE,
    "leader_id": NODE,
    "broker_id": NODE,
    "controller_id": NODE,
    "replica_nodes": NODE,
    "isr_nodes": NODE,
    "offline_replicas": NODE,
    "eligible_leader_replicas": NODE,
    "last_known_elr": NODE,
    "broker_ids": NODE,
    "replicas": NODE,
    "cluster_id": "cluster id",
}
_OF_STRINGS: Final = {"member_id": MEMBER, "leader": MEMBER, "cluster_id": "cluster id"}
_NO_ID: Final = frozenset({-1, 0, "", None, _NO_UUID})
_FROM_ZERO: Final = frozenset({NODE, PRODUCER})  # there 0 is an id like others
_NOTHING: Final = object()
_EPOCHS: Final = ("member_epoch", "generation_id", "generation_id_or_member_epoch")

Translate = Callable[[Hashable, Any], Any]
"""A kind and a value to the value of the other broker."""


def kind_of(field: Any) -> str | None:
    """The kind of id in a field of a schema; None if it holds none."""
    kind = field.type_str.removeprefix("[]")
    if kind == "uuid":
        return UUIDS
    name = field.name.removeprefix(_OLD)
    if kind == "string":
        return _OF_STRINGS.get(name)
    return _KINDS.get(name) if kind.startswith("int") else None


class Ids:
    """Pairs of ids of a left and a right broker."""

    def __init__(self) -> None:
        self._right: dict[Hashable, dict[Any, Any]] = {}
        self._left: dict[Hashable, dict[Any, Any]] = {}

    def are_one(self, kind: Hashable, left: Any, right: Any) -> bool:
        """Whether two ids mean the same; the first ones at the same place do."""
        none = _NO_ID - {0} if kind in _FROM_ZERO else _NO_ID
        if left in none or right in none:
            return left in none and right in none and (left == right or kind == UUIDS)
        return self._pair(kind, left, right)

    def _pair(self, kind: Hashable, left: Any, right: Any) -> bool:
        forth, back = self._right.setdefault(kind, {}), self._left.setdefault(kind, {})
        if left not in forth and right not in back:
            forth[left], back[right] = right, left
            return True
        return bool(left in forth and forth[left] == right)

    def learn(self, kind: Hashable, left: Any, right: Any) -> None:
        """Pair numbers that may come again with other partners: the newest pair counts."""
        self._right.setdefault(kind, {})[left] = right
        self._left.setdefault(kind, {})[right] = left

    def to_right(self, kind: Hashable, value: Any) -> Any:
        """The right broker's value of a left one; the same value if it has no partner."""
        return self._right.get(kind, {}).get(value, value)

    def to_left(self, kind: Hashable, value: Any) -> Any:
        """The left broker's value of a right one."""
        return self._left.get(kind, {}).get(value, value)

    def is_pair(self, kind: Hashable, left: Any, right: Any) -> bool:
        """Whether two values are known to mean the same."""
        return isinstance(left, Hashable) and self._right.get(kind, {}).get(left, _NOTHING) == right

    def knows_left(self, kind: Hashable, value: Any) -> bool:
        """Whether a left value has a partner."""
        return value in self._right.get(kind, {})

    def learn_epochs(self, request: Request, left: Fields, right: Fields) -> None:
        """Pair the epochs and generations in two answers to a request.

        The scope of an epoch is named by the right broker's ids.
        """
        asked = request.fields or {}
        epochs = left.get("producer_epoch"), right.get("producer_epoch")
        if "producer_id" in right and None not in epochs:
            self.learn(("producer epoch", right["producer_id"]), *epochs)
        for name in _EPOCHS[:2]:
            ours, theirs = left.get(name), right.get(name)
            if isinstance(ours, int) and isinstance(theirs, int) and ours > 0 and theirs > 0:
                member = right.get("member_id") or asked.get("member_id")
                self.learn(("member epoch", asked.get("group_id"), member), ours, theirs)


class Translation:
    """Requests with the ids of one broker, for another.

    Args:
        translate: a kind and a value to the other broker's.
        scope_of: ids in the scopes of epochs to the names that `Ids.learn_epochs` uses.
    """

    def __init__(self, translate: Translate, scope_of: Translate) -> None:
        self._translate = translate
        self._scope_of = scope_of

    def of(self, request: Request) -> bytes:
        """The frame to send; the same bytes if no id in it differs."""
        if request.fields is None or request.api_key is None:
            return request.frame
        struct = schema(request.api_key, "Request")
        fields = self._struct(struct, request.fields, request.fields.get("group_id"))
        if request.api_key is ApiKey.PRODUCE:
            self._batches(fields)
        return request.frame if fields == request.fields else with_fields(request, fields)

    def _struct(self, struct: Any, fields: Fields, group: Any) -> Fields:
        group = fields.get("group_id", group)
        made = {
            name: self._value(struct.fields[name], value, group) for name, value in fields.items()
        }
        for prefix in ("", _OLD):
            producer_id = fields.get(f"{prefix}producer_id")
            epoch = fields.get(f"{prefix}producer_epoch")
            if producer_id is not None and epoch is not None:
                made[f"{prefix}producer_epoch"] = self._epoch(producer_id, epoch)
        member = self._scope_of(MEMBER, fields.get("member_id"))
        for name in _EPOCHS:
            if name in fields:
                made[name] = self._translate(("member epoch", group, member), fields[name])
        return made

    def _epoch(self, producer_id: int, epoch: int) -> int:
        scope = ("producer epoch", self._scope_of(PRODUCER, producer_id))
        translated: int = self._translate(scope, epoch)
        return translated

    def _value(self, field: Any, value: Any, group: Any) -> Any:
        if value is None:
            return None
        if field.is_struct_array():
            return [self._struct(field, each, group) for each in value]
        if field.is_struct():
            return self._struct(field, value, group)
        kind = kind_of(field)
        if kind is None and field.type_str.removeprefix("[]") == "string":
            kind = MEMBER  # such as a list of members: no other text looks like one
        if kind is None:
            return value
        if isinstance(value, list):
            return [self._translate(kind, each) for each in value]
        return self._translate(kind, value)

    def _batches(self, fields: Fields) -> None:
        for topic in fields["topic_data"]:
            for partition in topic["partition_data"]:
                partition["records"] = self.batches(partition["records"])

    def batches(self, records: bytes | None) -> bytes | None:
        """Record batches with the other broker's producer ids."""
        if not records or len(records) < HEADER_SIZE:
            return records
        made = None
        for position, header in headers_in(records):
            if header.magic != 2 or header.producer_id < 0:
                continue
            producer_id = self._translate(PRODUCER, header.producer_id)
            epoch = self._epoch(header.producer_id, header.producer_epoch)
            if (producer_id, epoch) != (header.producer_id, header.producer_epoch):
                made = bytearray(records) if made is None else made
                with_producer(made, position, producer_id, epoch)
        return records if made is None else bytes(made)


_PRODUCER_AT: Final = 43
_PRODUCER: Final = 8


def with_producer(data: bytearray, position: int, producer_id: int, epoch: int) -> None:
    """Write another producer id and epoch into the batch at a position, and its CRC.

    A batch whose CRC was wrong keeps a wrong one.
    """
    was_right = crc_is_right(data, position, read_header(data, position))
    at = position + _PRODUCER_AT
    data[at : at + _PRODUCER] = producer_id.to_bytes(8, "big", signed=True)
    data[at + _PRODUCER : at + _PRODUCER + 2] = epoch.to_bytes(2, "big", signed=True)
    seal(data, position)
    if not was_right:
        data[position + CRC_POSITION] ^= 0xFF
