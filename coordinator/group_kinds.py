"""The table of the kinds of groups, such as classic and consumer groups.

A new kind is a folder beside `classic/` and `consumer/` and a line of `GROUP_KINDS`. The folder's
modules are imported with the first group of their kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import ClassVar, Final, NamedTuple


class GroupKindEntry(NamedTuple):
    """A line of the table.

    Attributes:
        module: has `make_kind(settings, classic, setup)`, which returns a `GroupKind`; relative to
            this room. Empty for classic groups, which every coordinator has.
        key_versions: the first two bytes of the keys of its records in `__consumer_offsets`
            (CoordinatorRecordType).
        records_module: has `decode(key_version, key, value)`, which returns a `KindRecord`.
            Empty for classic groups, whose records are in `group_records.py`.
    """

    module: str
    key_versions: frozenset[int]
    records_module: str = ""


GROUP_KINDS: Final[Mapping[str, GroupKindEntry]] = {
    "classic": GroupKindEntry("", frozenset({2})),
    "consumer": GroupKindEntry(
        "consumer.kind", frozenset({3, 4, 5, 6, 7, 8, 16}), "consumer.records"
    ),
    "share": GroupKindEntry("share.kind", frozenset({10, 11, 12, 13, 14, 15}), "share.records"),
    "streams": GroupKindEntry(
        "streams.kind", frozenset({17, 19, 20, 21, 22, 23}), "streams.records"
    ),
}
"""The kinds by their names in ListGroups (Group.GroupType), in the order of its answer."""

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SHARE: Final = "share"
STREAMS: Final = "streams"


class KindRecord:
    """A record of `__consumer_offsets` about a group of one kind, defined in the kind's folder.

    Attributes:
        kind_name: the kind's name in `GROUP_KINDS`.
        is_tombstone: it deletes, so that it is no proof of a group of this kind.
    """

    __slots__ = ()
    kind_name: ClassVar[str]
    is_tombstone: ClassVar[bool] = False
    group_id: str

    def encoded(self) -> tuple[bytes, bytes | None]:
        """The key and the value; a tombstone has no value."""
        raise NotImplementedError


class Tombstone(KindRecord):
    """A record that deletes.

    Attributes:
        kind: the version of its key.
    """

    __slots__ = ()
    is_tombstone = True
    kind: IntEnum

    @property
    def name(self) -> str:
        """The member id, or what else the key names beside the group; empty if nothing."""
        raise NotImplementedError
