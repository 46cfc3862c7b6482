"""The broker of the scenarios: Ottla or Apache Kafka, with users and the listeners."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Final

from ottla.testing import Ottla
from tests.kafka import node
from tests.security.conversations import SCRAM_PASSWORD, SCRAM_USER
from tests.security.scram_client import salted_password
from tests.wire.client import Connection

from .listeners import Listeners, with_handlers
from .peer import events_of
from .scenarios import all_scenarios

_TOGETHER: Final = 128  # clients at a time; most of their time is waiting
_ALLOWED: Final = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


@contextmanager
def ottla(listeners: Listeners) -> Iterator[Ottla]:
    """Run Ottla for the body of a `with`."""
    listeners.held.before_start()
    with closing(listeners.held), Ottla(settings=listeners.settings(is_kafka=False)) as broker:
        make_users(listeners.address("PLAINTEXT"))
        yield broker


@contextmanager
def kafka(listeners: Listeners) -> Iterator[None]:
    """Run an Apache Kafka for the body of a `with`."""
    directory = listeners.directory / "kafka"
    url = (listeners.directory / "jwks.json").as_uri()
    os.environ["JAVA_TOOL_OPTIONS"] = f"-D{_ALLOWED}={url}"
    try:
        port = listeners.ports["PLAINTEXT"]
        listeners.held.before_start()
        node.start(port, directory, with_handlers(listeners.settings(is_kafka=True)))
        make_users(listeners.address("PLAINTEXT"))
        yield
    finally:
        del os.environ["JAVA_TOOL_OPTIONS"]
        node.stop(directory, kill=True)
        listeners.held.close()


def make_users(address: tuple[str, int]) -> None:
    """Make the SCRAM credentials of the user."""
    with closing(Connection(address)) as connection:
        for number in (1, 2):
            user = {
                "name": SCRAM_USER, "mechanism": number, "iterations": 4096, "salt": b"salt",
                "salted_password": salted_password(number, SCRAM_PASSWORD),
            }  # fmt: skip
            body = {"deletions": [], "upsertions": [user]}
            answer = connection.call("AlterUserScramCredentials", 0, body)
            assert answer["results"][0]["error_code"] == 0, answer


def answers(listeners: Listeners, *, wanted: str = "") -> dict[str, list[object]]:
    """What clients see in the scenarios whose name contains a text."""
    chosen = {name: each for name, each in all_scenarios().items() if wanted in name}
    with ThreadPoolExecutor(_TOGETHER) as threads:
        waiting = {
            name: threads.submit(events_of, listeners.address(each.listener), each.tls, each.talk)
            for name, each in chosen.items()
        }
        return {name: each.result() for name, each in waiting.items()}
