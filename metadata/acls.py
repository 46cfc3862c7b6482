"""Access control entries (ACLs) as stored in the metadata log.

Pure, like the catalog: decisions return records, only `replay` assigns. Errors and matching follow
org.apache.kafka.controller.AclControlManager and AclBindingFilter. broker/runtime/authorizer.py
applies the entries to requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final
from uuid import UUID

from ..protocol.acls import AclResource, Operation, PatternType, Permission
from ..protocol.errors import Code, Refused
from ..protocol.named_tuple import NamedTuple
from .records import AccessControlEntryRecord, MetadataRecord, RemoveAccessControlEntryRecord

WILDCARD: Final = "*"
MAX_RECORDS: Final = 10_000
_IN_A_STEP: Final = 64
_PREFIXED: Final = int(PatternType.PREFIXED)
_entry_of: Final = attrgetter(
    "resource_type", "resource_name", "pattern_type", "principal", "host", "operation",
    "permission_type",
)  # fmt: skip


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
        # By resource, in order of creation (keys of a dict).
        self._literal: dict[tuple[int, str], dict[Acl, None]] = {}
        self._prefixed: dict[tuple[int, str], dict[Acl, None]] = {}
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
        return [acl for acl in self.matching_in_steps(wanted) if acl is not None]

    def matching_in_steps(self, wanted: AclFilter) -> Iterator[Acl | None]:
        """`matching`, with None after some entries; the entries are those of the first step."""
        candidates: Iterable[Acl] = self.by_id.values()
        if wanted.resource_type != AclResource.ANY and wanted.resource_name is not None:
            resource = (wanted.resource_type, wanted.resource_name)
            if wanted.pattern_type == PatternType.LITERAL:
                candidates = self._literal.get(resource, ())
            elif wanted.pattern_type == PatternType.PREFIXED:
                candidates = self._prefixed.get(resource, ())
        for passed, acl in enumerate(tuple(candidates), 1):
            if wanted.matches(acl):
                yield acl
            if passed % _IN_A_STEP == 0:
                yield None

    # Decisions.

    def create(
        self, wanted: Iterable[Acl], new_id: Callable[[], UUID]
    ) -> tuple[list[Refused | None], tuple[AccessControlEntryRecord, ...]]:
        """CreateAcls at once: the result for each entry, and the records."""
        creation = self.creation(new_id)
        for acl in wanted:
            creation.add(acl)
        return creation.results, creation.records()

    def creation(self, new_id: Callable[[], UUID]) -> Creation:
        """CreateAcls: the decision, to which the entries are added."""
        return Creation(self, new_id)

    def deletion(self) -> Deletion:
        """DeleteAcls: the decision, to which the filters are added."""
        return Deletion(self)

    def id_of(self, acl: Acl) -> UUID:
        """The id of an existing entry."""
        return self._ids[acl]

    def has(self, acl: Acl) -> bool:
        """Whether an entry exists."""
        return acl in self._ids

    # Replay.

    def replay(self, record: AccessControlEntryRecord | RemoveAccessControlEntryRecord) -> None:
        """Apply a record."""
        self.changes += 1
        if isinstance(record, RemoveAccessControlEntryRecord):
            self._remove(record.id)
        else:
            self._add(record)

    def replay_all(
        self, records: Sequence[AccessControlEntryRecord | RemoveAccessControlEntryRecord]
    ) -> None:
        """Apply the records of one decision. 10,000 of them take 15 ms."""
        self.changes += len(records)
        for record in records:
            if isinstance(record, RemoveAccessControlEntryRecord):
                self._remove(record.id)
            else:
                self._add(record)

    def _add(self, record: AccessControlEntryRecord) -> None:
        acl: Acl = tuple.__new__(Acl, _entry_of(record))  # as fast as a tuple
        self.by_id[record.id] = acl
        self._ids[acl] = record.id
        key = (acl.resource_type, acl.resource_name)
        if acl.pattern_type == _PREFIXED:
            self._prefixed.setdefault(key, {})[acl] = None
            self._longest_prefix = max(self._longest_prefix, len(acl.resource_name))
        else:
            self._literal.setdefault(key, {})[acl] = None

    def _remove(self, entry_id: UUID) -> None:
        acl = self.by_id.pop(entry_id)
        del self._ids[acl]
        index = self._prefixed if acl.pattern_type == _PREFIXED else self._literal
        key = (acl.resource_type, acl.resource_name)
        entries = index[key]
        del entries[acl]
        if not entries:
            del index[key]

    def records(self) -> Iterator[MetadataRecord]:
        """The state as records, for a snapshot."""
        return (AccessControlEntryRecord(each, *acl) for each, acl in self.by_id.items())


class Creation:
    """CreateAcls: the new entries of a request.

    Attributes:
        results: None for each valid entry, or its refusal; existing entries need no record.
    """

    def __init__(self, acls: Acls, new_id: Callable[[], UUID]) -> None:
        self._acls = acls
        self._changes = acls.changes
        self._new_id = new_id
        self._records: dict[Acl, AccessControlEntryRecord] = {}
        self.results: list[Refused | None] = []

    @property
    def is_outdated(self) -> bool:
        """Whether entries were created or deleted since this decision began."""
        return self._acls.changes != self._changes

    def add(self, acl: Acl) -> None:
        """Create an entry."""
        refused = _why_invalid(acl)
        self.results.append(refused)
        if refused is None and acl not in self._records and not self._acls.has(acl):
            self._records[acl] = AccessControlEntryRecord(self._new_id(), *acl)

    def records(self) -> tuple[AccessControlEntryRecord, ...]:
        """The records of the decision, which must not be outdated."""
        assert not self.is_outdated, "entries have changed"
        return tuple(self._records.values())


class Deletion:
    """DeleteAcls: the matches of each filter; matches may overlap.

    Attributes:
        results: the entries that each filter matches, or its refusal.
    """

    def __init__(self, acls: Acls) -> None:
        self._acls = acls
        self._changes = acls.changes
        self._gone: dict[UUID, None] = {}  # in order
        self.results: list[Refused | list[Acl]] = []

    @property
    def is_outdated(self) -> bool:
        """Whether entries were created or deleted since this decision began."""
        return self._acls.changes != self._changes

    def add(self, wanted: AclFilter) -> None:
        """Delete the entries that a filter matches."""
        for _ in self.add_in_steps(wanted):
            pass

    def add_in_steps(self, wanted: AclFilter) -> Iterator[None]:
        """`add` in steps of some entries each; ends early when the decision is outdated."""
        if PatternType.UNKNOWN in (wanted.resource_type, wanted.pattern_type):
            self.results.append(Refused(Code.INVALID_REQUEST, "Unknown patternFilter."))
            return
        if Operation.UNKNOWN in (wanted.operation, wanted.permission_type):
            self.results.append(Refused(Code.INVALID_REQUEST, "Unknown entryFilter."))
            return
        matching, new = list[Acl](), list[UUID]()
        for each in self._acls.matching_in_steps(wanted):
            if self.is_outdated:
                return
            if each is None:
                yield
                continue
            matching.append(each)
            entry_id = self._acls.id_of(each)
            if entry_id not in self._gone:
                new.append(entry_id)
        if len(self._gone) + len(new) > MAX_RECORDS:
            why = f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation."
            self.results.append(Refused(Code.UNKNOWN_SERVER_ERROR, why))
            return
        self.results.append(matching)
        self._gone.update(dict.fromkeys(new))
        yield

    def records(self) -> Iterator[RemoveAccessControlEntryRecord]:
        """The records of the decision, which must not be outdated."""
        assert not self.is_outdated, "entries have changed"
        return map(RemoveAccessControlEntryRecord, self._gone)


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
