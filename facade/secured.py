"""The settings of a secured broker of a test, and those of its clients.

with Ottla(security="SASL_PLAINTEXT", users={"alice": "secret"}) as broker:
    producer = Producer(broker.client_settings("confluent"))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
CLIENTS: Final = (
    "aiokafka", "confluent", "franz-go", "java", "kafka-python", "kafkajs", "spark",
)  # fmt: skip
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def broker_settings(security: str, users: Mapping[str, str]) -> dict[str, str]:
    """The settings of a broker whose clients log in by PLAIN.

    Args:
        security: `PLAINTEXT`, which has no users, or `SASL_PLAINTEXT`.
        users: passwords by name.

    Raises:
        ValueError: the security is unknown, or does not fit the users.
    """
    if security == "PLAINTEXT" and not users:
        return {}
    if security != SASL_PLAINTEXT:
        raise ValueError(f"security={security!r} must be {SASL_PLAINTEXT}, with users")
    if not users:
        raise ValueError(f"{security} needs users, as in users={{'alice': 'secret'}}")
    options = " ".join(f"{_quoted('user_' + name)}={_quoted(users[name])}" for name in users)
    return {
        "listener.security.protocol.map": f"PLAINTEXT:{security},CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": f"{_PLAIN} {options};",
    }


def client_settings(
    client: str, bootstrap: str, login: tuple[str, str] | None
) -> dict[str, object]:
    """The settings with which a client connects.

    Args:
        client: one of CLIENTS.
        bootstrap: HOST:PORT of each node.
        login: name and password; None if the broker needs none.

    Raises:
        ValueError: the client is unknown.
    """
    if client not in CLIENTS:
        raise ValueError(f"client {client!r} must be one of {', '.join(CLIENTS)}")
    if client in ("kafkajs", "franz-go"):
        return _of_objects(client, bootstrap, login)
    if client in ("aiokafka", "kafka-python"):
        found: dict[str, object] = {"bootstrap_servers": bootstrap}
        if login is not None:
            found |= {
                "security_protocol": SASL_PLAINTEXT, "sasl_mechanism": "PLAIN",
                "sasl_plain_username": login[0], "sasl_plain_password": login[1],
            }  # fmt: skip
        return found
    found = {"bootstrap.servers": bootstrap}
    if login is not None:
        found |= {"security.protocol": SASL_PLAINTEXT, "sasl.mechanism": "PLAIN"}
        if client == "confluent":
            found |= {"sasl.username": login[0], "sasl.password": login[1]}
        else:
            name, password = map(_quoted, login)
            found["sasl.jaas.config"] = f"{_PLAIN} username={name} password={password};"
    return {f"kafka.{name}": found[name] for name in found} if client == "spark" else found


def _of_objects(client: str, bootstrap: str, login: tuple[str, str] | None) -> dict[str, object]:
    """Fields of kafkajs' client, or of the arguments of franz-go."""
    brokers = bootstrap.split(",")
    if client == "kafkajs":
        found: dict[str, object] = {"brokers": brokers, "ssl": False}
        if login is not None:
            found["sasl"] = {"mechanism": "plain", "username": login[0], "password": login[1]}
        return found
    found = {"SeedBrokers": brokers}
    if login is not None:
        found["SASL"] = {"mechanism": "PLAIN", "User": login[0], "Pass": login[1]}
    return found


def properties_of(settings: Mapping[str, str]) -> str:
    """The text of a properties file."""
    escaped = {name: text.replace("\\", "\\\\") for name, text in settings.items()}
    return "".join(f"{name}={text}\n" for name, text in escaped.items())


def _quoted(text: str) -> str:
    """A text as an option of a JAAS line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'
