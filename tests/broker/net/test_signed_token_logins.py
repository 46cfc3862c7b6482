"""Logins by signed tokens: a node with the settings of Apache Kafka, over sockets."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from ottla.broker.settings.config import BrokerConfig
from ottla.broker.settings.definitions import BadSetting
from tests.log_lines import LogLines
from tests.security.signed_tokens import LISTENERS, keys, settings_of_listeners, verdicts

from .listening_node import listening_node

pytestmark = pytest.mark.real_time

KAFKA = json.loads((Path(__file__).parents[2] / "security" / "kafka-4.4.0-tokens.json").read_text())
URL = "sasl.oauthbearer.jwks.endpoint.url"
HANDLER = "listener.name.plain.oauthbearer.sasl.server.callback.handler.class"


@pytest.fixture
def key_set_file(tmp_path: Path) -> Path:
    file = tmp_path / "jwks.json"
    file.write_text(keys().key_set())
    return file


def settings_of(url: str) -> dict[str, str]:
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(f"{each}:SASL_PLAINTEXT" for each in LISTENERS),
        "inter.broker.listener.name": next(iter(LISTENERS)),
        "delegation.token.secret.key": "k",
        **settings_of_listeners(url),
    }


def spelt(settings: dict[str, str]) -> dict[str, str]:
    return {name.replace(".", "_"): value for name, value in settings.items()}


async def test_every_token_has_the_answer_of_kafka(tmp_path: Path, key_set_file: Path) -> None:
    settings = spelt(settings_of(key_set_file.as_uri()))
    async with listening_node(tmp_path / "data", **settings) as (_, sockets):
        addresses = {each.name: f"127.0.0.1:{each.port}" for each in sockets.listeners}
        assert await asyncio.to_thread(verdicts, addresses) == KAFKA


async def test_a_node_starts_without_the_issuer_and_logs_it_once(
    tmp_path: Path, log_lines: LogLines
) -> None:
    settings = spelt(settings_of("http://127.0.0.1:1/keys"))  # no server has this port
    async with listening_node(tmp_path / "data", **settings) as (_, sockets):
        addresses = {sockets.listeners[0].name: f"127.0.0.1:{sockets.listeners[0].port}"}
        found = await asyncio.to_thread(verdicts, addresses)
    assert set(found[next(iter(LISTENERS))].values()) == {"invalid_token"}
    texts = [text for _, text, _ in log_lines.lines]
    assert texts.count("the keys of the tokens' issuer cannot be read") == len(LISTENERS)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (None, "must be a URL of a JSON Web Key Set: file:, http:, https:"),
        ("ftp://x/keys", "must be a URL of a JSON Web Key Set"),
        ("file:///nowhere/keys", "cannot be used: .*No such file"),
        ("file:EMPTY", "cannot be used: it is no JSON Web Key Set"),
    ],
)
def test_a_wrong_address_of_the_keys_stops_the_start(
    url: str | None, why: str, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.write_text("{}")
    given = settings_of((url or "file:x").replace("file:EMPTY", empty.as_uri()))
    if url is None:
        given = {name: value for name, value in given.items() if not name.endswith(URL)}
    with pytest.raises(BadSetting, match=why) as raised:
        BrokerConfig.from_settings(given)
    assert URL in str(raised.value)


def test_signed_tokens_need_the_library(
    key_set_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    monkeypatch.delitem(sys.modules, "ottla.security.signed_tokens", raising=False)
    with pytest.raises(BadSetting, match="needs the library PyJWT"):
        BrokerConfig.from_settings(settings_of(key_set_file.as_uri()))


def test_other_validators_are_refused(key_set_file: Path) -> None:
    given = settings_of(key_set_file.as_uri()) | {HANDLER: "org.example.Handler"}
    with pytest.raises(BadSetting, match="Ottla has no other"):
        BrokerConfig.from_settings(given)
