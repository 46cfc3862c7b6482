"""SCRAM credentials: Kafka's key derivation, and one result for each user."""

from __future__ import annotations

import pytest

from ottla.metadata.catalog import Catalog
from ottla.metadata.records import MetadataRecord
from ottla.metadata.scram import Deletion, ScramCredentials, Upsertion, keys_of
from ottla.protocol.errors import Code

SALTED = b"x" * 32


def upsertion(name: str = "bob", mechanism: int = 1, iterations: int = 4096) -> Upsertion:
    return Upsertion(name, mechanism, iterations, b"salt", SALTED)


def holding(*upsertions: Upsertion) -> ScramCredentials:
    catalog = Catalog()
    for each in upsertions:
        replay(catalog, catalog.scram.alter([], [each])[1])
    return catalog.scram


def replay(catalog: Catalog, records: tuple[MetadataRecord, ...]) -> None:
    for record in records:
        catalog.replay(record, catalog.last_offset + 1)


def test_the_keys_equal_those_that_kafka_derives_from_the_same_password() -> None:
    stored_key, server_key = keys_of(1, SALTED)
    assert stored_key.hex() == "f4695af4c64263f1e68abd850edb59b206bded8ce10d6fdd8b8af9a1db8007fd"
    assert server_key.hex() == "ef1ec68ad1add5f3f8fd010997d9bf074025de4bbfb9a818d835d310a0f86469"
    stored_key, server_key = keys_of(2, SALTED)
    assert stored_key.hex().startswith("9b4f705760b40d5d60eac93e904500c5")
    assert server_key.hex().startswith("b453dd1e9f2c1d4351ad9b47c79072c6")


@pytest.mark.parametrize(
    ("change", "code", "why"),
    [
        (upsertion(iterations=4095), Code.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (upsertion(iterations=16_385), Code.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (upsertion(name=""), Code.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (upsertion(mechanism=3), Code.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (upsertion()._replace(salted_password=b""), Code.UNKNOWN_SERVER_ERROR, None),
    ],
)
def test_an_invalid_credential_is_refused(change: Upsertion, code: Code, why: str | None) -> None:
    answers, records = ScramCredentials().alter([], [change, upsertion("alice")])
    refused = answers[change.name]
    assert refused is not None
    assert (refused.code, refused.why) == (code, why)
    assert answers["alice"] is None
    assert len(records) == 1


def test_a_user_named_twice_is_refused() -> None:
    scram = holding(upsertion())
    for deletions, upsertions in (
        ([], [upsertion("new")] * 3),
        ([Deletion("bob", 1)], [upsertion("bob")]),
        ([Deletion("bob", 1)] * 2, []),
        ([], [upsertion("bob", 1), upsertion("bob", 2)]),
    ):
        answers, records = scram.alter(deletions, upsertions)
        assert [refused and refused.code for refused in answers.values()] == [
            Code.DUPLICATE_RESOURCE
        ]
        assert records == ()


def test_deleting_a_missing_credential_is_refused() -> None:
    answers, _ = holding(upsertion()).alter([Deletion("bob", 2)], [])
    refused = answers["bob"]
    assert refused is not None
    assert refused.code == Code.RESOURCE_NOT_FOUND


def test_describing_a_user_named_twice_or_missing_is_refused() -> None:
    scram = holding(upsertion(mechanism=2), upsertion(iterations=8192), upsertion("alice"))
    assert dict(scram.describe(None)) == {"bob": [(1, 8192), (2, 4096)], "alice": [(1, 4096)]}
    answers = dict(scram.describe(["bob", "eve", "bob"]))
    codes = {name: getattr(answer, "code", None) for name, answer in answers.items()}
    assert codes == {"bob": Code.DUPLICATE_RESOURCE, "eve": Code.RESOURCE_NOT_FOUND}


def test_the_records_restore_the_credentials_and_a_deletion_removes_them() -> None:
    scram = holding(upsertion(), upsertion(mechanism=2), upsertion("alice"))
    catalog = Catalog()
    replay(catalog, tuple(scram.records()))
    assert catalog.scram == scram
    replay(catalog, catalog.scram.alter([Deletion("bob", 2)], [])[1])
    assert catalog.scram == holding(upsertion(), upsertion("alice"))
    replay(catalog, catalog.scram.alter([Deletion("bob", 1)], [])[1])
    assert catalog.scram.get("bob", 1) is None
    assert catalog.scram == holding(upsertion("alice"))
