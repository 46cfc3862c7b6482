"""Access control entries: filters, refusals, and replay of their records."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from ottla.metadata.acls import MAX_RECORDS, Acl, AclFilter, Acls
from ottla.metadata.catalog import Catalog
from ottla.metadata.records import MetadataRecord
from ottla.protocol.acls import AclResource, Operation, PatternType, Permission
from ottla.protocol.errors import Code, Refused

EVERY = AclFilter(AclResource.ANY, None, PatternType.ANY, None, None, Operation.ANY, Permission.ANY)


def acl(name: str = "orders", **fields: Any) -> Acl:
    read = Acl(
        AclResource.TOPIC,
        name,
        PatternType.LITERAL,
        "User:bob",
        "*",
        Operation.READ,
        Permission.ALLOW,
    )
    return read._replace(**fields)


def ids() -> Iterator[UUID]:
    return (UUID(int=number) for number in range(1, 1000))


def holding(*entries: Acl) -> Acls:
    acls = Acls()
    fresh = ids()
    results, records = acls.create(entries, lambda: next(fresh))
    assert results == [None] * len(entries)
    for record in records:
        acls.replay(record)
    return acls


def test_creating_an_existing_entry_writes_no_record() -> None:
    acls = holding(acl())
    assert (
        acls.create([acl(), acl("new"), acl("new")], ids().__next__)[1]
        == (acls.create([acl("new")], ids().__next__)[1])
    )


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"resource_type": 0}, "Invalid resourceType UNKNOWN"),
        ({"pattern_type": 0}, "Invalid patternType UNKNOWN"),
        ({"operation": 0}, "Invalid operation UNKNOWN"),
        ({"permission_type": 0}, "Invalid permissionType UNKNOWN"),
        (
            {"principal": "bob"},
            "Could not parse principal from `bob` (no colon is present separating the principal "
            "type from the principal name)",
        ),
    ],
)
def test_an_invalid_entry_is_refused_and_the_others_are_created(
    wrong: dict[str, Any], why: str
) -> None:
    results, records = Acls().create([acl(**wrong), acl()], ids().__next__)
    assert isinstance(results[0], Refused)
    assert (results[0].code, results[0].why) == (Code.INVALID_REQUEST, why)
    assert results[1] is None
    assert len(records) == 1


ENTRIES = {
    "literal": acl("orders"),
    "other": acl("orders-old"),
    "prefixed": acl("ord", pattern_type=PatternType.PREFIXED),
    "wildcard": acl("*"),
    "group": acl("orders", resource_type=AclResource.GROUP),
}


@pytest.mark.parametrize(
    ("changes", "meant"),
    [
        ({}, "literal other prefixed wildcard group"),
        ({"resource_name": "orders"}, "literal group"),
        ({"resource_name": "orders", "resource_type": AclResource.TOPIC}, "literal"),
        (
            {
                "resource_name": "orders",
                "pattern_type": PatternType.MATCH,
                "resource_type": AclResource.TOPIC,
            },
            "literal prefixed wildcard",
        ),
        ({"pattern_type": PatternType.PREFIXED}, "prefixed"),
        ({"pattern_type": PatternType.PREFIXED, "resource_name": "orders"}, ""),
        ({"pattern_type": PatternType.MATCH}, "literal other prefixed wildcard group"),
        ({"principal": "User:eve"}, ""),
        ({"host": "10.0.0.1"}, ""),
        ({"operation": Operation.WRITE}, ""),
        ({"permission_type": Permission.DENY}, ""),
        ({"resource_type": AclResource.UNKNOWN}, ""),
    ],
)
def test_a_filter_matches_entries(changes: dict[str, Any], meant: str) -> None:
    acls = holding(*ENTRIES.values())
    expected = [ENTRIES[name] for name in meant.split()]
    assert sorted(acls.matching(EVERY._replace(**changes))) == sorted(expected)


@pytest.mark.parametrize("pattern_type", PatternType)
@pytest.mark.parametrize("name", ["ord", "orders", "*", "", "none"])
def test_a_filter_with_a_name_finds_the_same_entries_as_a_search_of_all(
    pattern_type: PatternType, name: str
) -> None:
    entries = [
        acl(resource, pattern_type=pattern, operation=operation)
        for resource in ("ord", "orders", "*")
        for operation in (Operation.READ, Operation.WRITE)
        for pattern in (PatternType.PREFIXED, PatternType.LITERAL)
    ]
    acls = holding(*entries)
    for resource_type in (AclResource.TOPIC, AclResource.GROUP, AclResource.ANY):
        wanted = EVERY._replace(
            resource_type=resource_type, resource_name=name, pattern_type=pattern_type
        )
        assert acls.matching(wanted) == [each for each in entries if wanted.matches(each)]


def test_a_deletion_is_outdated_once_entries_change() -> None:
    acls = holding(acl())
    deletion = acls.deletion()
    deletion.add(EVERY)
    assert not deletion.is_outdated
    acls.replay(acls.create([acl("new")], lambda: UUID(int=5000))[1][0])
    assert deletion.is_outdated
    with pytest.raises(AssertionError):
        deletion.records()


def test_no_more_entries_than_a_batch_has_room_for_are_deleted() -> None:
    acls, numbers = Acls(), count(1)
    many = [acl(f"t{number}") for number in range(MAX_RECORDS + 1)]
    for record in acls.create(many, lambda: UUID(int=next(numbers)))[1]:
        acls.replay(record)
    deletion = acls.deletion()
    for wanted in (EVERY._replace(resource_name="t0"), EVERY, EVERY._replace(resource_name="t1")):
        deletion.add(wanted)
    one, refused, other = deletion.results
    assert (one, other) == ([many[0]], [many[1]])
    assert isinstance(refused, Refused)
    assert len([*deletion.records()]) == 2


def test_two_filters_that_match_one_entry_both_report_it_and_delete_it_once() -> None:
    acls = holding(acl())
    deletion = acls.deletion()
    for wanted in (EVERY, EVERY, EVERY._replace(operation=Operation.UNKNOWN)):
        deletion.add(wanted)
    results, records = deletion.results, [*deletion.records()]
    assert results[:2] == [[acl()], [acl()]]
    assert isinstance(results[2], Refused)
    assert (results[2].code, results[2].why) == (Code.INVALID_REQUEST, "Unknown entryFilter.")
    assert len(records) == 1
    acls.replay(records[0])
    assert acls == Acls()
    assert list(acls.about(AclResource.TOPIC, "orders")) == []


def test_an_entry_applies_to_a_resource_by_name_prefix_or_wildcard() -> None:
    acls = holding(*ENTRIES.values())
    assert set(acls.about(AclResource.TOPIC, "orders")) == {
        ENTRIES["literal"],
        ENTRIES["prefixed"],
        ENTRIES["wildcard"],
    }
    assert set(acls.about(AclResource.TOPIC, "or")) == {ENTRIES["wildcard"]}
    assert list(acls.about(AclResource.CLUSTER, "orders")) == []


def replayed(records: Iterator[MetadataRecord]) -> Catalog:
    catalog = Catalog()
    for offset, record in enumerate(records):
        catalog.replay(record, offset)
    return catalog


def test_the_records_restore_the_entries() -> None:
    acls = holding(*ENTRIES.values())
    assert replayed(acls.records()).acls == acls
