"""Every setting of every kind of resource, tried with good and bad values on Ottla and on Kafka.

All requests only validate. Error names and messages are the same, except for settings with Ottla's
own messages, and for accidents of Kafka.
"""

from __future__ import annotations

import pytest

from ottla.broker.settings.broker_settings import BROKER_SETTINGS
from ottla.broker.settings.definitions import Setting
from ottla.broker.settings.support import limits
from ottla.broker.settings.topic_settings import GROUP_SETTINGS, METRICS_SETTINGS, TOPIC_SETTINGS

from ..wire.broker import Broker
from ..wire.client import error_name
from .conftest import Pair

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
SET, APPEND = 0, 2
VALUES = ("", "0", "-1", "1", "5", "abc", "true", "1000000000000", " 7 ", "0.5", "a,b")
TABLES = {
    TOPIC: TOPIC_SETTINGS,
    BROKER: BROKER_SETTINGS,
    METRICS: METRICS_SETTINGS,
    GROUP: GROUP_SETTINGS,
}
OTHERWISE = {
    "controller.listener.names": "what is appended to it is UNKNOWN_SERVER_ERROR",
    "cordoned.log.dirs": "Ottla has one directory, and says so",
    "listener.security.protocol.map": "Ottla names the listener that would be without one",
    "listeners": "Ottla's stay as they were at its start",
    "log.cleaner.io.buffer.load.factor": "0 would end the cleaner",
    "log.cleaner.io.max.bytes.per.second": "0 would end the cleaner",
    "log.cleaner.threads": "Kafka divides by zero",
    "log.remote.copy.lag.ms": "Ottla has no remote storage to compare with",
    "log.local.retention.ms": "Ottla has no remote storage to compare with",
    "max.connections.per.ip.overrides": "Kafka tells where Java's parser failed",
    "process.roles": "what is appended to it is UNKNOWN_SERVER_ERROR",
    "ssl.endpoint.identification.algorithm": "Kafka takes any text",
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", ["", "named"])
@pytest.mark.timeout(300)
def test_a_setting_is_refused_with_the_same_message(kind: int, name: str, pair: Pair) -> None:
    brokers = [Broker(address, "settings") for address in pair]
    names = [name] * 2
    if name and kind == TOPIC:
        names = [broker.topic() for broker in brokers]
    elif name and kind == BROKER:
        names = [str(broker.node_id()) for broker in brokers]
    different = []
    for setting in TABLES[kind].shown():
        if setting.name in OTHERWISE:
            continue
        tried = [(SET, value) for value in VALUES] + [(APPEND, "x")]
        for operation, value in tried:
            ours, theirs = (
                answered(broker, (kind, each), (setting.name, operation, value))
                for broker, each in zip(brokers, names, strict=True)
            )
            if theirs[0] == "NONE" and ours == not_here(setting):
                continue
            if ours != theirs:
                different.append(f"{setting.name} {operation} {value!r}: {theirs}, here {ours}")
    for broker in brokers:
        broker.delete_topics()
        broker.close()
    assert not different, "\n".join(different)


def not_here(setting: Setting) -> tuple[str, str | None] | None:
    """The answer to a value that Kafka accepts and Ottla does not support."""
    why = limits(setting)
    return None if why is None else ("INVALID_CONFIG", f"{setting.name} {why}")


def answered(
    broker: Broker, resource: tuple[int, str], change: tuple[str, int, str]
) -> tuple[str, str | None]:
    """Error name and message of one change, which is only validated."""
    name, operation, value = change
    config = {"name": name, "config_operation": operation, "value": value}
    wanted = {"resource_type": resource[0], "resource_name": resource[1], "configs": [config]}
    body = {"resources": [wanted], "validate_only": True}
    (answer,) = broker.call("IncrementalAlterConfigs", 1, body)["responses"]
    return error_name(answer["error_code"]), answer["error_message"]
