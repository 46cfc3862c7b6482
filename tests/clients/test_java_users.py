"""Kafka's Java client as users with rights, without them and with quotas, on Ottla and on Kafka."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from ottla.testing import Ottla
from tests.held_ports import HeldPorts
from tests.kafka import node
from tests.kafka.installation import java

pytestmark = [pytest.mark.clients, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]

MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USERS: Final = 'user_alice="alice" user_bob="bob" user_carol="carol"'
BROKER: Final = {
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
    ),
    "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.login.plain.sasl.jaas.config": f"{MODULE} {USERS};",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "group.initial.rebalance.delay.ms": "0",
    "quota.window.num": "2",
}
TOPIC: Final = "TopicAuthorizationException: Not authorized to access topics: [orders]"
GROUP: Final = "GroupAuthorizationException: Not authorized to access group: readers"
NO_CREATION: Final = "TopicAuthorizationException: Authorization failed."
TOLD: Final = {
    "bob": {
        "write": "ok",
        "read without a group": "ok",
        "read in a group": "ok",
        "begin with a transactional id": "ok",
        "write in a transaction": "ok",
        "send offsets in a transaction": "ok",
        "describe the transaction": "Ongoing",
        "list transactions": "[bob, shop]",
        "describe producers": "1 open",
        "describe the topic": "[orders]",
        "create a topic": NO_CREATION,
        "producer_byte_rate": "throttled: false",
        "consumer_byte_rate": "throttled: false",
    },
    "alice": {
        "write": TOPIC,
        "read without a group": TOPIC,
        "read in a group": GROUP,
        "begin with a transactional id": (
            "TransactionalIdAuthorizationException: Transactional Id authorization failed."
        ),
        "write in a transaction": TOPIC,
        "send offsets in a transaction": GROUP,
        "describe the transaction": (
            "TransactionalIdAuthorizationException: FindCoordinator request for transactionalId"
            " `CoordinatorKey(idValue='shop', type=TRANSACTION)` failed due to authorization"
            " failure"
        ),
        "list transactions": "[alice]",
        "describe producers": (
            "TopicAuthorizationException: Failed to fetch metadata for partition orders-0 due to"
            " topic authorization failure"
        ),
        "describe the topic": "TopicAuthorizationException: Topic authorization failed.",
        "create a topic": NO_CREATION,
        "producer_byte_rate": "throttled: true",
        "consumer_byte_rate": "throttled: true",
    },
    "carol": {
        "describe producers": (
            "TopicAuthorizationException: Failed to describe active producers for partition"
            " orders-0 due to authorization failure on topic `orders`"
        ),
        "describe the topic": "[orders]",
    },
}


@contextmanager
def broker_of(kind: str, directory: Path) -> Iterator[tuple[str, str]]:
    """A broker: HOST:PORT without a login, and with one."""
    held = HeldPorts(3)
    plain, login, controller = (f"127.0.0.1:{port}" for port in held.ports)
    listeners = f"PLAINTEXT://{plain},LOGIN://{login}"
    settings = {**BROKER, "advertised.listeners": listeners, "listeners": listeners}
    held.before_start()
    with closing(held):
        if kind == "ottla":
            with Ottla(settings=settings):
                yield plain, login
            return
        settings["listeners"] += f",CONTROLLER://{controller}"
        settings["controller.quorum.voters"] = f"1@{controller}"
        try:
            node.start(held.ports[0], directory, settings, heap_mb=512)
            yield plain, login
        finally:
            node.stop(directory, kill=True)


@pytest.mark.parametrize("kind", ["ottla", "kafka"])
def test_rights_and_quotas_of_users_are_those_of_kafka(
    kind: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    if "kafka" not in pytestconfig.getoption("-m"):
        pytest.skip("needs the jars of Apache Kafka: -m kafka")
    source = Path(__file__).with_name("SecuredUsers.java")
    with broker_of(kind, tmp_path / "kafka") as addresses:
        command = java("-Xmx256m", "-XX:TieredStopAtLevel=1", str(source), *addresses)
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, str]] = {user: {} for user in TOLD}
    for user, action, outcome in (line.split("\t") for line in done.stdout.splitlines()):
        found[user][action] = outcome
    assert found == TOLD
