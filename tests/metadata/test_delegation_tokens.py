"""Delegation tokens: lifetimes, who may renew and expire them, and their records."""

from __future__ import annotations

import pytest

from ottla.metadata.catalog import Catalog
from ottla.metadata.catalog_records import records_of
from ottla.metadata.delegation_tokens import (
    DelegationToken,
    Lifetimes,
    created,
    expiring,
    record_of,
    renewed,
)
from ottla.metadata.records import RemoveDelegationTokenRecord, decode, encode
from ottla.protocol.errors import Code, Refused

NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000
LIFETIMES = Lifetimes(7 * DAY_MS, DAY_MS)
ALICE, BOB, CAROL = "User:alice", "User:bob", "User:carol"


def token(max_lifetime_ms: int = -1) -> DelegationToken:
    return created("id", (ALICE, ALICE, [BOB]), max_lifetime_ms, LIFETIMES, NOW_MS)


@pytest.mark.parametrize(
    ("max_lifetime_ms", "expiry_ms", "max_ms"),
    [
        (-1, DAY_MS, 7 * DAY_MS),
        (0, DAY_MS, 7 * DAY_MS),
        (5000, 5000, 5000),
        (2 * DAY_MS, DAY_MS, 2 * DAY_MS),
        (9 * DAY_MS, DAY_MS, 7 * DAY_MS),
    ],
)
def test_settings_and_request_limit_the_time_of_a_token(
    max_lifetime_ms: int, expiry_ms: int, max_ms: int
) -> None:
    made = token(max_lifetime_ms)
    assert made.expiry_timestamp_ms - NOW_MS == expiry_ms
    assert made.max_timestamp_ms - NOW_MS == max_ms


def test_lifetimes_do_not_exceed_an_int64() -> None:
    endless = Lifetimes((1 << 63) - 1, (1 << 63) - 1)
    assert created("id", (ALICE, ALICE, []), -1, endless, NOW_MS).max_timestamp_ms == (1 << 63) - 1


@pytest.mark.parametrize("principal", [ALICE, BOB])
@pytest.mark.parametrize(("period_ms", "lifetime_ms"), [(-1, DAY_MS), (0, DAY_MS), (9, 9)])
def test_owner_and_renewers_renew_a_token(principal: str, period_ms: int, lifetime_ms: int) -> None:
    later = renewed(token(), principal, period_ms, LIFETIMES, NOW_MS + 1000)
    assert later.expiry_timestamp_ms == NOW_MS + 1000 + lifetime_ms
    last_ms = NOW_MS + 7 * DAY_MS - 1
    kept = token()._replace(expiry_timestamp_ms=last_ms)
    assert renewed(kept, principal, -1, LIFETIMES, last_ms).expiry_timestamp_ms == last_ms + 1


def test_others_do_not_renew_or_expire_it() -> None:
    for decide in (
        lambda: renewed(token(), CAROL, -1, LIFETIMES, NOW_MS),
        lambda: expiring(token(), CAROL, -1, NOW_MS),
    ):
        with pytest.raises(Refused) as raised:
            decide()
        assert raised.value.code == Code.DELEGATION_TOKEN_OWNER_MISMATCH


def test_an_expired_token_is_removed_and_not_changed() -> None:
    expired_ms = NOW_MS + DAY_MS + 1
    assert not token().is_expired(expired_ms - 1)
    for period_ms in (0, 5):
        with pytest.raises(Refused) as raised:
            expiring(token(), ALICE, period_ms, expired_ms)
        assert raised.value.code == Code.DELEGATION_TOKEN_EXPIRED
    with pytest.raises(Refused):
        renewed(token(), ALICE, -1, LIFETIMES, expired_ms)
    assert expiring(token(), ALICE, -1, expired_ms) == (
        expired_ms, RemoveDelegationTokenRecord("id"),
    )  # fmt: skip


def test_records_restore_the_tokens() -> None:
    catalog, copy = Catalog(), Catalog()
    catalog.replay(decode(encode(record_of(token()))), 0)
    assert catalog.tokens.get("id") == token()
    for offset, record in enumerate(records_of(catalog)):
        copy.replay(record, offset)
    assert list(copy.tokens) == [token()]
    assert catalog.tokens.expired(NOW_MS) == ()
    for record in catalog.tokens.expired(NOW_MS + 2 * DAY_MS):
        catalog.replay(decode(encode(record)), 1)
    assert len(catalog.tokens) == 0
