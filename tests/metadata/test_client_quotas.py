"""Client quotas: valid entities, filters, and replay of their records."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

import pytest

from ottla.metadata.catalog import Catalog
from ottla.metadata.client_quotas import Alteration, ClientQuotas, Component, Entity, entity_of
from ottla.protocol.errors import Code, Refused

ALICE = [("user", "alice")]
ALICE_C: list[tuple[str, str | None]] = [("user", "alice"), ("client-id", "c")]
EVERYBODY: list[tuple[str, str | None]] = [("user", None)]
ADDRESS = [("ip", "10.0.0.1")]
SET: list[tuple[list[tuple[str, str | None]], str, float]] = [
    ([*ALICE], "producer_byte_rate", 1000.0),
    (ALICE_C, "producer_byte_rate", 2000.0),
    (EVERYBODY, "request_percentage", 12.5),
    ([*ADDRESS], "connection_creation_rate", 5.0),
]


def altered(
    quotas: ClientQuotas, *alterations: Alteration
) -> tuple[dict[Entity, Refused | None], int]:
    results, records = quotas.alter(alterations, is_address=lambda text: text[0].isdigit())
    for record in records:
        quotas.replay(record)
    return results, len(records)


def described(
    quotas: ClientQuotas, *components: Component, strict: bool = False
) -> list[tuple[Entity, Mapping[str, float]]]:
    found = sorted(quotas.describe(components, strict=strict), key=itemgetter(0))
    return [(entity, values) for _, entity, values in found]


def holding() -> ClientQuotas:
    quotas = ClientQuotas()
    for entity, key, value in SET:
        altered(quotas, Alteration(entity, [(key, value)]))
    return quotas


@pytest.mark.parametrize(
    ("entity", "key", "value", "why"),
    [
        ([], "producer_byte_rate", 1.0, "Invalid empty client quota entity"),
        ([("group", "g")], "x", 1.0, "Unhandled client quota entity type: group"),
        ([("user", "")], "producer_byte_rate", 1.0, "Empty user not supported"),
        (ALICE, "nothing", 1.0, "Invalid configuration key nothing"),
        (
            ALICE,
            "connection_creation_rate",
            1.0,
            "Invalid configuration key connection_creation_rate",
        ),
        (ADDRESS, "producer_byte_rate", 1.0, "Invalid configuration key producer_byte_rate"),
        (
            [("ip", "nowhere")],
            "connection_creation_rate",
            1.0,
            "nowhere is not a valid IP or resolvable host.",
        ),
        (
            [*ADDRESS, *ALICE],
            "connection_creation_rate",
            1.0,
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId",
        ),
        (ALICE, "producer_byte_rate", 0.0, "Quota producer_byte_rate must be greater than 0"),
        (ALICE, "producer_byte_rate", 1.5, "producer_byte_rate cannot be a fractional value."),
        (
            ALICE,
            "producer_byte_rate",
            1e19,
            "Proposed value for producer_byte_rate is too large for a LONG.",
        ),
        (
            ADDRESS,
            "connection_creation_rate",
            3e9,
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
    ],
)
def test_an_invalid_quota_is_refused(
    entity: list[tuple[str, str | None]], key: str, value: float, why: str
) -> None:
    quotas = ClientQuotas()
    results, records = altered(
        quotas, Alteration(entity, [(key, value)]), Alteration([("user", "b")], [])
    )
    refused = results[entity_of(entity)]
    assert refused is not None
    assert (refused.code, refused.why) == (Code.INVALID_REQUEST, why)
    assert results[("user", "b"),] is None
    assert records == 0


def test_setting_an_unchanged_quota_or_removing_a_missing_one_writes_no_record() -> None:
    quotas = holding()
    results, records = altered(
        quotas, Alteration(ALICE, [("producer_byte_rate", 1000.0), ("request_percentage", None)])
    )
    assert (results, records) == ({entity_of(ALICE): None}, 0)


def test_an_entity_named_twice_is_refused_after_its_first_change() -> None:
    quotas = ClientQuotas()
    change = Alteration(ALICE, [("producer_byte_rate", 1.0)])
    results, records = altered(
        quotas, change, change._replace(changes=[("producer_byte_rate", 2.0)])
    )
    refused = results[entity_of(ALICE)]
    assert refused is not None
    assert refused.why == "Ignoring duplicate entity ClientQuotaEntity(entries={user=alice})"
    assert records == 1
    assert quotas.by_entity == {entity_of(ALICE): {"producer_byte_rate": 1.0}}


@pytest.mark.parametrize(
    ("components", "strict", "meant"),
    [
        ([], False, [0, 1, 2, 3]),
        ([], True, []),
        ([("user", 2, None)], False, [0, 1, 2]),
        ([("user", 2, None)], True, [0, 2]),
        ([("user", 0, "alice")], False, [0, 1]),
        ([("user", 1, None)], False, [2]),
        ([("user", 0, "alice"), ("client-id", 2, None)], True, [1]),
        ([("ip", 2, None)], False, [3]),
    ],
)
def test_a_filter_matches_entities(
    components: list[tuple[str, int, str | None]], strict: bool, meant: list[int]
) -> None:
    found = described(holding(), *(Component(*each) for each in components), strict=strict)
    expected = {entity_of(SET[index][0]): {SET[index][1]: SET[index][2]} for index in meant}
    assert dict(found) == expected


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", 0, "x")], Code.INVALID_REQUEST),
        ([("user", 0, None)], Code.INVALID_REQUEST),
        ([("user", 1, "x")], Code.INVALID_REQUEST),
        ([("user", 2, "x")], Code.INVALID_REQUEST),
        ([("user", 9, None)], Code.INVALID_REQUEST),
        ([("user", 2, None), ("user", 1, None)], Code.INVALID_REQUEST),
        ([("user", 2, None), ("ip", 1, None)], Code.INVALID_REQUEST),
        ([("group", 2, None)], Code.UNSUPPORTED_VERSION),
    ],
)
def test_an_invalid_filter_is_refused(
    components: list[tuple[str, int, str | None]], code: Code
) -> None:
    with pytest.raises(Refused) as refused:
        holding().describe([Component(*each) for each in components], strict=False)
    assert refused.value.code == code


def test_the_records_restore_the_quotas_without_empty_entities() -> None:
    quotas = holding()
    catalog = Catalog()
    for offset, record in enumerate(quotas.records()):
        catalog.replay(record, offset)
    assert catalog.quotas == quotas
    for entity, key, _ in SET:
        altered(catalog.quotas, Alteration(entity, [(key, None)]))
    assert catalog.quotas == ClientQuotas()


def test_quotas_are_listed_in_kafkas_order() -> None:
    # As Apache Kafka 4.1.1 listed them, set in this order.
    P, C, R, M = (
        "producer_byte_rate",
        "consumer_byte_rate",
        "request_percentage",
        "controller_mutation_rate",
    )
    asked: list[tuple[list[tuple[str, str | None]], tuple[str, ...]]] = [
        ([("user", "alice")], (P, R, C)),
        ([("user", "bob")], (R,)),
        ([("user", "bob")], (P,)),
        ([("user", "carol")], (P,)),
        ([("user", "carol")], (R,)),
        ([("user", None)], (P, C, R, M)),
        ([("client-id", "c")], (M, P)),
        ([("user", "alice"), ("client-id", "c")], (C,)),
        ([("client-id", None)], (C, M)),
        ([("ip", "10.0.0.1")], ("connection_creation_rate",)),
        ([("ip", None)], ("connection_creation_rate",)),
        ([("user", None), ("client-id", None)], (R, P)),
    ]
    quotas = ClientQuotas()
    for entity, keys in asked:
        altered(quotas, Alteration(entity, [(key, 9.0) for key in keys]))
    assert [(entity, tuple(values)) for entity, values in described(quotas)] == [
        ((("user", "alice"),), (C, R, P)),
        ((("ip", None),), ("connection_creation_rate",)),
        ((("client-id", "c"), ("user", "alice")), (C,)),
        ((("user", "bob"),), (R, P)),
        ((("user", None),), (P, C, M, R)),
        ((("client-id", "c"),), (M, P)),
        ((("client-id", None),), (C, M)),
        ((("ip", "10.0.0.1"),), ("connection_creation_rate",)),
        ((("user", "carol"),), (P, R)),
        ((("client-id", None), ("user", None)), (R, P)),
    ]


def test_removing_a_quota_keeps_the_order_of_the_others() -> None:
    quotas = ClientQuotas()
    names = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
    altered(quotas, Alteration(ALICE, [(name, 9.0) for name in names]))
    altered(quotas, Alteration(ALICE, [("controller_mutation_rate", 9.0)]))
    altered(quotas, Alteration(ALICE, [("consumer_byte_rate", None)]))
    ((_, values),) = described(quotas)
    assert list(values) == ["controller_mutation_rate", "producer_byte_rate", "request_percentage"]
