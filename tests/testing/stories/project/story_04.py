"""A worker renders pictures, each of which takes a while."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from confluent_kafka import Consumer, KafkaException

from ottla.testing import Ottla

LIMIT = 3


def render_all(servers: str, render: Callable[[], object]) -> list[str]:
    """The program under test; it gives up after a few pictures."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers, "log_level": 0,
            "client.id": "renderer", "group.id": "renderers",
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
            "session.timeout.ms": 6000, "heartbeat.interval.ms": 100,
        }
    )  # fmt: skip
    consumer.subscribe(["pictures"])
    done: list[str] = []
    while len(done) < LIMIT:
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        render()
        done.append((message.value() or b"").decode())
        with suppress(KafkaException):
            consumer.commit(message=message, asynchronous=False)
    consumer.close()
    return done


@pytest.mark.ottla(clock="manual")
def test_each_picture_is_rendered(ottla_broker: Ottla) -> None:
    pictures = ["cat.png", "dog.png", "cow.png"]
    ottla_broker.produce("pictures", pictures)

    def render() -> None:
        ottla_broker.clock.advance(seconds=7)

    assert render_all(ottla_broker.bootstrap_servers, render) == pictures
