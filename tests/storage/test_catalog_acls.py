"""Access control entries: what filters mean, what is refused, and that records lead back to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from ottla.metadata.acls import Acl, AclFilter, Acls
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
    told, records = acls.create(entries, lambda: next(fresh))
    assert told == [None] * len(entries)
    for record in records:
        acls.replay(record)
    return acls


def test_an_entry_that_is_there_needs_no_record() -> None:
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
def test_what_is_wrong_is_told_and_the_rest_is_made(wrong: dict[str, Any], why: str) -> None:
    told, records = Acls().create([acl(**wrong), acl()], ids().__next__)
    assert isinstance(told[0], Refused)
    assert (told[0].code, told[0].why) == (Code.INVALID_REQUEST, why)
    assert told[1] is None
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
def test_a_filter_means(changes: dict[str, Any], meant: str) -> None:
    acls = holding(*ENTRIES.values())
    expected = [ENTRIES[name] for name in meant.split()]
    assert sorted(acls.matching(EVERY._replace(**changes))) == sorted(expected)


def test_filters_that_mean_the_same_entry_both_tell_it_and_it_goes_once() -> None:
    acls = holding(acl())
    told, records = acls.delete([EVERY, EVERY, EVERY._replace(operation=Operation.UNKNOWN)])
    assert told[:2] == [[acl()], [acl()]]
    assert isinstance(told[2], Refused)
    assert (told[2].code, told[2].why) == (Code.INVALID_REQUEST, "Unknown entryFilter.")
    assert len(records) == 1
    acls.replay(records[0])
    assert acls == Acls()
    assert list(acls.about(AclResource.TOPIC, "orders")) == []


def test_what_is_about_a_resource_is_its_name_a_prefix_or_the_wildcard() -> None:
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


def test_its_records_lead_back_to_it() -> None:
    acls = holding(*ENTRIES.values())
    assert replayed(acls.records()).acls == acls
