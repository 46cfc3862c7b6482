"""Access control entries (ACLs) as stored in the metadata log.

Pure, like the catalog: decisions return records, only `replay` assigns. Errors and matching follow
org.apache.kafka.controller.AclControlManager and AclBindingFilter. broker/runtime/authorizer.py
applies the entries to requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from ..protocol.acls import AclResource, Operation, PatternType, Permission
from ..protocol.errors import Code, Refused
from .records import AccessControlEntryRecord, MetadataRecord, RemoveAccessControlEntryRecord

WILDCARD: Final = "*"
MAX_RECORDS: Final = 10_000


class Acl(NamedTuple):
    """One entry, without its id; equal entries are one."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class AclFilter(NamedTuple):
    """A filter of entries; None and ANY match all (AclBindingFilter)."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int

    def matches(self, acl: Acl) -> bool:
        """Whether the filter matches an entry."""
        return (
            self.resource_type in (AclResource.ANY, acl.resource_type)
            and self._matches_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission_type in (Permission.ANY, acl.permission_type)
        )

    def _matches_name(self, acl: Acl) -> bool:
        """MATCH finds the entries that apply to a resource, other types those written that way."""
        every = (PatternType.ANY, PatternType.MATCH, acl.pattern_type)
        if self.pattern_type not in every:
            return False
        if self.resource_name is None:
            return True
        if self.pattern_type != PatternType.MATCH:
            return self.resource_name == acl.resource_name
        if acl.pattern_type == PatternType.PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name in (self.resource_name, WILDCARD)


class Acls:
    """All entries.

    Attributes:
        by_id: the entries, read-only for callers.
        changes: number of replayed records; results cached at another number may be outdated.
    """

    def __init__(self) -> None:
        self.by_id: dict[UUID, Acl] = {}
        self.changes = 0
        self._ids: dict[Acl, UUID] = {}
        self._literal: dict[tuple[int, str], list[Acl]] = {}
        self._prefixed: dict[tuple[int, str], list[Acl]] = {}
        self._longest_prefix = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Acls) and self.by_id == other.by_id

    def about(self, resource_type: int, name: str) -> Iterator[Acl]:
        """The entries that apply to a resource: by its name, a prefix of it, or the wildcard."""
        yield from self._literal.get((resource_type, name), ())
        if name != WILDCARD:
            yield from self._literal.get((resource_type, WILDCARD), ())
        if self._prefixed:
            for length in range(min(len(name), self._longest_prefix) + 1):
                yield from self._prefixed.get((resource_type, name[:length]), ())

    def of_type(self, resource_type: int) -> Iterator[Acl]:
        """The entries for resources of one type."""
        return (acl for acl in self.by_id.values() if acl.resource_type == resource_type)

    def matching(self, wanted: AclFilter) -> list[Acl]:
        """DescribeAcls: the entries that match a filter, in the order of their creation."""
        candidates: Iterable[Acl] = self.by_id.values()
        if wanted.resource_type != AclResource.ANY and wanted.resource_name is not None:
            resource = (wanted.resource_type, wanted.resource_name)
            if wanted.pattern_type == PatternType.LITERAL:
                candidates = self._literal.get(resource, ())
            elif wanted.pattern_type == PatternType.PREFIXED:
                candidates = self._prefixed.get(resource, ())
        return [acl for acl in candidates if wanted.matches(acl)]

    # Decisions.

    def create(
        self, wanted: Sequence[Acl], new_id: Callable[[], UUID]
    ) -> tuple[list[Refused | None], tuple[AccessControlEntryRecord, ...]]:
        """CreateAcls: the result for each entry, and the records; existing entries need none."""
        results: list[Refused | None] = []
        records: dict[Acl, AccessControlEntryRecord] = {}
        for acl in wanted:
            refused = _why_invalid(acl)
            results.append(refused)
            if refused is None and acl not in self._ids and acl not in records:
                records[acl] = AccessControlEntryRecord(new_id(), *acl)
        return results, tuple(records.values())

    def deletion(self) -> Deletion:
        """DeleteAcls: the decision, to which the filters are added."""
        return Deletion(self)

    def id_of(self, acl: Acl) -> UUID:
        """The id of an existing entry."""
        return self._ids[acl]

    # Replay.

    def replay(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        """Apply a record."""
        self.changes += 1
        if isinstance(record, RemoveAccessControlEntryRecord):
            acl = self.by_id.pop(record.id)
            del self._ids[acl]
            index, key = self._index_of(acl)
            index[key].remove(acl)
            if not index[key]:
                del index[key]
            return
        acl = Acl(
            record.resource_type,
            record.resource_name,
            record.pattern_type,
            record.principal,
            record.host,
            record.operation,
            record.permission_type,
        )
        self.by_id[record.id] = acl
        self._ids[acl] = record.id
        index, key = self._index_of(acl)
        index.setdefault(key, []).append(acl)
        if index is self._prefixed:
            self._longest_prefix = max(self._longest_prefix, len(acl.resource_name))

    def records(self) -> Iterator[MetadataRecord]:
        """The state as records, for a snapshot."""
        return (AccessControlEntryRecord(each, *acl) for each, acl in self.by_id.items())

    def _index_of(self, acl: Acl) -> tuple[dict[tuple[int, str], list[Acl]], tuple[int, str]]:
        is_prefix = acl.pattern_type == PatternType.PREFIXED
        index = self._prefixed if is_prefix else self._literal
        return index, (acl.resource_type, acl.resource_name)


class Deletion:
    """DeleteAcls: the matches of each filter; matches may overlap.

    Attributes:
        results: the entries that each filter matches, or its refusal.
    """

    def __init__(self, acls: Acls) -> None:
        self._acls = acls
        self._changes = acls.changes
        self._gone: dict[UUID, RemoveAccessControlEntryRecord] = {}
        self.results: list[Refused | list[Acl]] = []

    @property
    def is_outdated(self) -> bool:
        """Whether entries were created or deleted since this decision began."""
        return self._acls.changes != self._changes

    def add(self, wanted: AclFilter) -> None:
        """Delete the entries that a filter matches."""
        if PatternType.UNKNOWN in (wanted.resource_type, wanted.pattern_type):
            self.results.append(Refused(Code.INVALID_REQUEST, "Unknown patternFilter."))
            return
        if Operation.UNKNOWN in (wanted.operation, wanted.permission_type):
            self.results.append(Refused(Code.INVALID_REQUEST, "Unknown entryFilter."))
            return
        matching = self._acls.matching(wanted)
        new = [each for each in map(self._acls.id_of, matching) if each not in self._gone]
        if len(self._gone) + len(new) > MAX_RECORDS:
            why = f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation."
            self.results.append(Refused(Code.UNKNOWN_SERVER_ERROR, why))
            return
        self.results.append(matching)
        self._gone.update((each, RemoveAccessControlEntryRecord(each)) for each in new)

    def records(self) -> tuple[RemoveAccessControlEntryRecord, ...]:
        """The records of the decision, which must not be outdated."""
        assert not self.is_outdated, "entries have changed"
        return tuple(self._gone.values())


def _why_invalid(acl: Acl) -> Refused | None:
    """Why an entry is invalid (validateNewAcl); UNKNOWN is a number of a newer version."""
    why = None
    if acl.resource_type == AclResource.UNKNOWN:
        why = "Invalid resourceType UNKNOWN"
    elif acl.pattern_type == PatternType.UNKNOWN:
        why = "Invalid patternType UNKNOWN"
    elif acl.operation == Operation.UNKNOWN:
        why = "Invalid operation UNKNOWN"
    elif acl.permission_type == Permission.UNKNOWN:
        why = "Invalid permissionType UNKNOWN"
    elif ":" not in acl.principal:
        why = (
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the "
            "principal type from the principal name)"
        )
    return None if why is None else Refused(Code.INVALID_REQUEST, why)
