"""Secrets are in no log line, answer, event, trace, metric or repr, in any of their forms.

Passwords, tokens and keys are random texts of several alphabets. Clients log in with right and
wrong ones, set and describe them, and fail in many ways, at the log level TRACE.
"""

from __future__ import annotations

import gc
import json
import unicodedata
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ottla.broker import log_output
from ottla.broker.kafka_metrics import collect_kafka
from ottla.broker.log_names import REQUESTS
from ottla.broker.metrics import collect
from ottla.broker.requests.dispatch import Dispatch, Layer
from ottla.broker.requests.request_log import log_requests
from ottla.client import properties as client_properties
from ottla.lab.actions.dispatch import act_on_requests
from ottla.lab.actions.lab_state import LabState
from ottla.metadata.scram import keys_of
from ottla.security import jaas, key_stores, plain, scram
from ottla.trace.events import events_of
from ottla.trace.view import lines_of
from tests.broker.observing import Heard
from tests.log_lines import LogLines
from tests.security.conversations import Ask, Raw, authenticate, handshake
from tests.security.conversations import plain as plain_message
from tests.security.sasl_listener import SETTINGS
from tests.security.scram_client import ScramClient, salted_password

from .sasl_door import Client, Door

pytestmark = pytest.mark.real_time

_ALPHABETS: Final = (
    "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789",
    "abcXYZ0189!#$%&()*+-./:<=>?@[]^_`{|}~ ",
    "äöüßéñøłčŽабвгд漢字かなﬁⅨªµ①",
)
_LENGTH: Final = 20
_JAAS: Final = "listener.name.saslp.plain.sasl.jaas.config"
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class Secrets:
    """The secrets of one run, and their forms."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._made: list[bytes] = []

    def text(self) -> str:
        """A new secret."""
        alphabet = self._random.choice(_ALPHABETS)
        made = "".join(self._random.choice(alphabet) for _ in range(_LENGTH)).strip().ljust(9, "x")
        self.add(made.encode())
        return made

    def ascii(self) -> str:
        """A new secret that may be a token."""
        made = "".join(self._random.choice(_ALPHABETS[0]) for _ in range(_LENGTH))
        self.add(made.encode())
        return made

    def add(self, secret: bytes) -> None:
        """Add a secret that was made elsewhere."""
        self._made.append(secret)

    def forms(self) -> Iterator[str]:
        """All texts that must not appear."""
        for secret in self._made:
            yield secret.hex()
            yield secret.hex().upper()
            yield b64encode(secret).decode().rstrip("=")
            yield urlsafe_b64encode(secret).decode().rstrip("=")
            yield repr(secret)[2:-1]
            try:
                text = secret.decode()
            except UnicodeDecodeError:
                continue
            yield text
            yield unicodedata.normalize("NFKC", text)
            yield json.dumps(text)[1:-1]
            yield b64encode(unicodedata.normalize("NFKC", text).encode()).decode().rstrip("=")

    def found_in(self, text: str) -> list[str]:
        return [form for form in self.forms() if form in text]


class Scene:
    """A node at the log level TRACE, its clients, and all that they can see."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.secrets = secrets = Secrets(seed)
        self.password, self.token_key = secrets.text(), secrets.ascii()
        line = SETTINGS[_JAAS].replace('"secret"', f'"{self.password}"')
        settings = {_JAAS: line, "delegation.token.secret.key": self.token_key}
        settings["ssl.key.password"] = secrets.ascii()
        settings["ssl.keystore.password"] = secrets.ascii()
        self.door = Door(directory, settings)
        self.heard, self.seen = Heard(), list[str]()
        node = self.door.it.node
        node.events.add(self.heard)
        self.lab = LabState(node.events, node.clock)
        self.trace_file = directory / "trace.jsonl"
        self.lab.tracer.start(file=self.trace_file)

    def client(self) -> Client:
        layers: list[Layer] = [log_requests, partial(act_on_requests, self.lab)]
        return self.door.connect(Dispatch(self.door.it.node, layers))

    async def ask(self, client: Client, *asks: Ask | Raw) -> Any:
        """The last answer; all are seen."""
        answer: Any = None
        for ask in asks:
            answer = await client.ask(ask)
            self.seen.append(repr(answer))
        return answer

    async def logged_in(self) -> Client:
        client = self.client()
        right = authenticate(plain_message("alice", self.password))
        answer = await self.ask(client, handshake("PLAIN"), right)
        assert answer["error_code"] == 0
        return client

    async def by_scram(self, mechanism: str, name: str, password: str, more: str = "") -> None:
        """Log in, rightly or wrongly."""
        client, scram_client = self.client(), ScramClient(mechanism, name, password, "n", more)
        first = await self.ask(client, handshake(mechanism), authenticate(scram_client.first()))
        if first != "closed" and first["auth_bytes"]:
            final = scram_client.final(first["auth_bytes"])
            self.secrets.add(final.rpartition(b",p=")[2])
            await self.ask(client, authenticate(final))


async def wrong_logins(scene: Scene) -> None:
    """Logins that fail, in all ways that have a secret in them."""
    for user, behalf in (("alice", ""), ("nobody", ""), ("alice", "bob")):
        wrong = plain_message(user, scene.secrets.text(), behalf)
        await scene.ask(scene.client(), handshake("PLAIN"), authenticate(wrong))
    own = plain_message("alice", scene.password, "bob")
    await scene.ask(scene.client(), handshake("PLAIN"), authenticate(own))
    swapped = plain_message(scene.secrets.text(), scene.secrets.text())
    await scene.ask(scene.client(), handshake("PLAIN"), authenticate(swapped[1:]))
    await scene.ask(scene.client(), handshake("PLAIN", 0), Raw(scene.secrets.text().encode()))
    for token in (f"n,,\x01auth=Bearer {scene.secrets.ascii()}\x01\x01", scene.secrets.text()):
        await scene.ask(scene.client(), handshake("OAUTHBEARER"), authenticate(token.encode()))
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        await scene.by_scram(mechanism, "scram", scene.secrets.text())
        final = f"c=biws,r={scene.secrets.ascii()},p={scene.secrets.ascii()}".encode()
        first = authenticate(b"n,,n=scram,r=x")
        await scene.ask(scene.client(), handshake(mechanism), first, authenticate(final))
    client = await scene.logged_in()
    unasked = authenticate(plain_message("alice", scene.secrets.text()))
    await scene.ask(client, unasked)
    again = authenticate(plain_message("alice", scene.secrets.text()))
    await scene.ask(client, handshake("PLAIN"), again)


async def changed_users(scene: Scene, admin: Client) -> None:
    """SCRAM credentials, right and wrong, and logins by them."""
    for number, iterations in ((1, 4096), (2, 4096), (1, 5), (9, 4096)):
        password = scene.secrets.text()
        salted = salted_password(min(number, 2), password)
        for secret in (salted, *keys_of(min(number, 2), salted)):
            scene.secrets.add(secret)
        user = {
            "name": "carol", "mechanism": number, "iterations": iterations, "salt": b"salt",
            "salted_password": salted,
        }  # fmt: skip
        body = {"deletions": [], "upsertions": [user]}
        await scene.ask(admin, Ask("AlterUserScramCredentials", 0, body))
        if number < 3 and iterations > 5:
            mechanism = ("SCRAM-SHA-256", "SCRAM-SHA-512")[number - 1]
            await scene.by_scram(mechanism, "carol", password)
    await scene.ask(admin, Ask("DescribeUserScramCredentials", 0, {"users": None}))


async def changed_settings(scene: Scene, admin: Client) -> None:
    """Settings with secrets, right and wrong, and their descriptions."""
    secret = scene.secrets.text
    prefix = "listener.name.saslp."
    values = {
        _JAAS: f'{_MODULE} user_dora="{secret()}";',
        prefix + "scram-sha-256.sasl.jaas.config": secret(),
        prefix + "plain.sasl.jaas.config": f'{_MODULE} user_eve="{secret()}',
        prefix + "ssl.keystore.password": secret(),
        prefix + "ssl.keystore.key": f"-----BEGIN PRIVATE KEY----- {scene.secrets.ascii()}",
        "ssl.key.password": secret(),
        "delegation.token.secret.key": secret(),
    }
    for name, value in values.items():
        config = {"name": name, "config_operation": 0, "value": value}
        resource = {"resource_type": 4, "resource_name": "1", "configs": [config]}
        body = {"resources": [resource], "validate_only": False}
        await scene.ask(admin, Ask("IncrementalAlterConfigs", 1, body))
        old = {
            "resource_type": 4,
            "resource_name": "1",
            "configs": [{"name": name, "value": value}],
        }
        body = {"resources": [old], "validate_only": True}
        await scene.ask(admin, Ask("AlterConfigs", 2, body))
    described = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
    body = {
        "resources": [described], "include_synonyms": True, "include_documentation": True,
    }  # fmt: skip
    await scene.ask(admin, Ask("DescribeConfigs", 4, body))


async def delegation_tokens(scene: Scene, admin: Client) -> None:
    """Tokens are in the answers to their owner alone, and in no other place."""
    lifetime = {"renewers": [], "max_lifetime_ms": -1}
    owner = {"owner_principal_type": None, "owner_principal_name": None}
    token = await admin.ask(Ask("CreateDelegationToken", 3, {**owner, **lifetime}))
    hmac = token["hmac"]
    scene.secrets.add(hmac)
    scene.secrets.add(b64encode(hmac))
    await admin.ask(Ask("DescribeDelegationToken", 3, {"owners": None}))
    renewed = {"hmac": hmac, "renew_period_ms": 1000}
    await scene.ask(admin, Ask("RenewDelegationToken", 2, renewed))
    password, tokenauth = b64encode(hmac).decode(), ",tokenauth=true"
    await scene.by_scram("SCRAM-SHA-256", token["token_id"], password, tokenauth)
    await scene.by_scram("SCRAM-SHA-512", token["token_id"], scene.secrets.ascii(), tokenauth)
    expired = {"hmac": hmac, "expiry_time_period_ms": -1}
    await scene.ask(admin, *[Ask("ExpireDelegationToken", 2, expired)] * 2)


def reprs(scene: Scene) -> Iterator[str]:
    """The texts of all objects of the rooms that may have a secret."""
    modules = (client_properties, jaas, key_stores, plain, scram)
    names = {module.__name__ for module in modules} | {
        "ottla.metadata.scram", "ottla.metadata.delegation_tokens", "ottla.metadata.catalog",
        "ottla.security.authenticator", "ottla.security.outcomes", "ottla.security.oauthbearer",
        "ottla.broker.net.logins", "ottla.broker.settings.config", "ottla.broker.settings.tls",
        "ottla.broker.runtime.token_secrets",
    }  # fmt: skip
    for each in gc.get_objects():
        if type(each).__module__ in names:
            yield repr(each)
    node = scene.door.it.node
    yield from map(repr, (node, node.config, node.catalog, scene.door.logins, node.token_secrets))


async def metrics(scene: Scene) -> str:
    """The page of metrics."""
    node = scene.door.it.node

    class Page:
        def __init__(self, families: list[Any]) -> None:
            self._families = families

        def collect(self) -> list[Any]:
            return self._families

    registry = CollectorRegistry()
    registry.register(Page([*collect([node]), *await collect_kafka([node], {})]))
    return generate_latest(registry).decode()


async def traces(scene: Scene) -> str:
    """The trace: in memory, in its file, as Parquet, and as it is shown."""
    scene.lab.tracer.stop()
    events, _ = await scene.lab.tracer.find()
    assert {"request", "answer", "metadata_decision"} <= {event["kind"] for event in events}
    import pyarrow.parquet as pq

    from ottla.trace import parquet as trace_parquet

    parquet = scene.trace_file.with_suffix(".parquet")
    assert trace_parquet.write(events_of(events), parquet) == len(events)
    table = repr(pq.read_table(parquet).to_pylist())
    return "\n".join(
        [
            *map(repr, events),
            scene.trace_file.read_text(),
            table,
            *map(repr, lines_of(events_of(events))),
        ]
    )


@pytest.mark.parametrize("seed", range(8))
async def test_secrets_are_nowhere(tmp_path: Path, log_lines: LogLines, seed: int) -> None:
    log_output.set_level(REQUESTS, "TRACE")
    scene = Scene(tmp_path, seed)
    try:
        await wrong_logins(scene)
        admin = await scene.logged_in()
        await changed_users(scene, admin)
        await delegation_tokens(scene, admin)
        await changed_settings(scene, admin)
        places = {
            "log lines": repr(log_lines.lines),
            "answers": "\n".join(scene.seen),
            "events": repr(scene.heard.events),
            "trace": await traces(scene),
            "metrics": await metrics(scene),
            "reprs": "\n".join(reprs(scene)),
        }
    finally:
        scene.door.it.node.close(clean=False)
    assert all(places.values()), "nothing was collected"
    levels = {level for level, _, _ in log_lines.lines}
    assert {"trace", "debug", "warning"} <= levels
    found = {place: scene.secrets.found_in(text) for place, text in places.items()}
    assert not any(found.values()), found
