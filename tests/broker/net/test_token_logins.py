"""Delegation tokens from end to end: created, used for a login, renewed, expired; and refusals."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ottla.protocol.errors import Code
from tests.security.conversations import Ask, authenticate, handshake
from tests.security.scram_client import ScramClient

from .sasl_door import Client, Door

pytestmark = pytest.mark.real_time

SETTINGS = {
    "delegation.token.secret.key": "topsecret",
    "delegation.token.expiry.check.interval.ms": "60000",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
}


@pytest_asyncio.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    it = Door(tmp_path, SETTINGS)
    yield it
    it.it.node.close(clean=False)


async def create(client: Client, lifetime_ms: int = -1, owner: str | None = None) -> Any:
    renewers = [{"principal_type": "User", "principal_name": "bob"}]
    body = {
        "owner_principal_type": owner and "User", "owner_principal_name": owner,
        "renewers": renewers, "max_lifetime_ms": lifetime_ms,
    }  # fmt: skip
    return await client.ask(Ask("CreateDelegationToken", 3, body))


async def renew(client: Client, hmac: bytes) -> Any:
    return await client.ask(
        Ask("RenewDelegationToken", 2, {"hmac": hmac, "renew_period_ms": 3_600_000})
    )


async def expire(client: Client, hmac: bytes, period_ms: int = -1) -> Any:
    body = {"hmac": hmac, "expiry_time_period_ms": period_ms}
    return await client.ask(Ask("ExpireDelegationToken", 2, body))


async def describe(client: Client) -> Any:
    return await client.ask(Ask("DescribeDelegationToken", 3, {"owners": None}))


async def token_login(door: Door, token: Any, mechanism: str = "SCRAM-SHA-256") -> Client:
    client = door.connect()
    password = b64encode(token["hmac"]).decode()
    scram = ScramClient(mechanism, token["token_id"], password, extensions=",tokenauth=true")
    await client.ask(handshake(mechanism))
    first = await client.ask(authenticate(scram.first()))
    final = await client.ask(authenticate(scram.final(first["auth_bytes"])))
    assert (final["error_code"], final["auth_bytes"]) == (0, scram.signature)
    return client


async def test_a_token_logs_in_its_owner_until_it_expires(door: Door) -> None:
    alice = await door.logged_in("alice")
    token = await create(alice, 10_000)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        client = await token_login(door, token, mechanism)
        assert client.connection.info.principal.text == "User:alice"
    assert "brokers" in await client.ask(Ask("Metadata", 1, {"topics": []}))
    await door.clock.advance_ms(10_001)
    assert await client.ask(Ask("Metadata", 1, {"topics": []})) == "closed"


async def test_a_client_with_a_token_gets_no_further_token(door: Door) -> None:
    token = await create(await door.logged_in("alice"))
    client = await token_login(door, token)
    for answer in (
        await create(client),
        await renew(client, token["hmac"]),
        await expire(client, token["hmac"]),
        await describe(client),
    ):
        assert answer["error_code"] == Code.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


async def test_owner_and_renewer_renew_and_remove_it(door: Door) -> None:
    alice, bob, admin = [await door.logged_in(name) for name in ("alice", "bob", "admin")]
    token = await create(alice)
    renewed = await renew(bob, token["hmac"])
    assert renewed["expiry_timestamp_ms"] == door.clock.now_ms() + 3_600_000
    assert (await renew(admin, token["hmac"]))["error_code"] == 63
    assert (await expire(alice, b"x"))["error_code"] == Code.DELEGATION_TOKEN_NOT_FOUND
    assert (await expire(bob, token["hmac"]))["error_code"] == 0
    assert (await renew(alice, token["hmac"]))["error_code"] == Code.DELEGATION_TOKEN_NOT_FOUND


async def test_a_token_for_another_user_needs_a_right_on_that_user(door: Door) -> None:
    alice, admin = await door.logged_in("alice"), await door.logged_in("admin")
    refused = await create(alice, owner="bob")
    assert refused["error_code"] == Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    token = await create(admin, owner="bob")
    assert (token["principal_name"], token["token_requester_principal_name"]) == ("bob", "admin")
    client = await token_login(door, token)
    assert client.connection.info.principal.text == "User:bob"


async def test_clients_see_their_tokens_and_those_that_acls_allow(door: Door) -> None:
    alice, bob, admin = [await door.logged_in(name) for name in ("alice", "bob", "admin")]
    await create(alice)
    await create(admin)
    owners = {
        name: [token["principal_name"] for token in (await describe(client))["tokens"]]
        for name, client in {"alice": alice, "bob": bob, "admin": admin}.items()
    }
    assert owners == {"alice": ["alice"], "bob": ["alice", "admin"], "admin": ["alice", "admin"]}


async def test_expired_tokens_are_removed_and_others_outlive_a_restart(tmp_path: Path) -> None:
    door = Door(tmp_path, SETTINGS)
    alice = await door.logged_in("alice")
    short, long = await create(alice, 1000), await create(alice)
    assert len(door.it.node.catalog.tokens) == 2
    await door.clock.advance_ms(60_000)
    assert [each.token_id for each in door.it.node.catalog.tokens] == [long["token_id"]]
    alice = await door.logged_in("alice")
    assert (await expire(alice, short["hmac"]))["error_code"] == Code.DELEGATION_TOKEN_NOT_FOUND
    door.it.node.close()
    again = Door(tmp_path, SETTINGS)
    await token_login(again, long)
    again.it.node.close(clean=False)


def test_the_secret_is_in_no_repr_and_no_record(door: Door) -> None:
    secrets = door.it.node.token_secrets
    assert "topsecret" not in repr(secrets)
    assert "topsecret" not in repr(list(door.it.node.catalog.tokens))
