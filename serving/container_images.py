"""Settings that images of Kafka take by other variables: Debezium's, wurstmeister's, Bitnami's.

- NODE_ID or BROKER_ID, and NODE_ROLE (Debezium);
- KAFKA_ADVERTISED_HOST_NAME and _PORT (wurstmeister), and without KAFKA_ (Debezium);
- KAFKA_METRIC_REPORTERS with Confluent's class, which only the image cp-server has, is left out;
- a comma at the end of listeners, as .NET's testcontainers 3.10 write it, is left out.

Where no address is given, these images advertise the name of the container, so that other
containers find the broker. The images of Apache and Confluent need the address, or use localhost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES: Final = ("KAFKA_ADVERTISED_HOST_NAME", "KAFKA_ADVERTISED_PORT")
"""`ottla serve` would call them unknown."""
OWN_ZOOKEEPER: Final = ("localhost:", "127.0.0.1:")
_BITNAMI: Final = "KAFKA_CFG_"
_OF_IMAGES: Final = (
    *("ALLOW_PLAINTEXT_LISTENER", "KAFKA_ENABLE_KRAFT"),  # Bitnami
    *("NODE_ID", "BROKER_ID", "NODE_ROLE", "ZOOKEEPER_CONNECT"),  # Debezium
)
_ROLES: Final = {"broker": "broker", "controller": "controller"}
_COMBINED: Final = "broker,controller"
_CONTROLLER: Final = "CONTROLLER"
_DEFAULT_PORT: Final = "9092"
_REPORTERS: Final = "metric.reporters"
_CONFLUENT: Final = "io.confluent."


class WrongImageVariable(Exception):
    """A variable with a value that it cannot have; the text names it."""


def settings_of_images(environ: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that these variables add; what is given as such takes precedence.

    Args:
        environ: the environment's variables.
        settings: what is known besides.

    Raises:
        WrongImageVariable: a port is not a number.
    """
    found = {}
    node_id = environ.get("NODE_ID") or environ.get("BROKER_ID")
    if node_id and not (settings.get("node.id") or settings.get("broker.id")):
        found["node.id"] = node_id
    if (role := environ.get("NODE_ROLE")) and "process.roles" not in settings:
        found["process.roles"] = _ROLES.get(role, _COMBINED)
        if "controller.listener.names" not in settings:
            found["controller.listener.names"] = _CONTROLLER
    if _CONFLUENT in (reporters := settings.get(_REPORTERS, "")):
        kept = (each for each in reporters.split(",") if not each.strip().startswith(_CONFLUENT))
        found[_REPORTERS] = ",".join(kept)
    for name in ("listeners", "advertised.listeners"):
        if (text := settings.get(name, "").rstrip()).endswith(","):
            found[name] = text.rstrip(", ")
    if settings.get("advertised.listeners"):
        return found
    listeners = settings.get("listeners") or f"PLAINTEXT://:{_DEFAULT_PORT}"
    if (host := _named_host(environ)) is not None:
        advertised = f"PLAINTEXT://{host}"
    elif _is_of_such_an_image(environ, settings):
        advertised = _by_name(listeners, settings)
    else:
        advertised = ""
    if advertised:
        found["advertised.listeners"] = advertised
        if not settings.get("listeners"):
            found["listeners"] = listeners
    return found


def _named_host(environ: Mapping[str, str]) -> str | None:
    """Host and port of the only listener, as images before listeners have them."""
    host = environ.get("KAFKA_ADVERTISED_HOST_NAME") or environ.get("ADVERTISED_HOST_NAME")
    if not host:
        return None
    port = environ.get("KAFKA_ADVERTISED_PORT") or environ.get("ADVERTISED_PORT") or _DEFAULT_PORT
    if not port.isdecimal():
        raise WrongImageVariable(f"KAFKA_ADVERTISED_PORT={port}: must be a port")
    return f"{host}:{port}"


def _is_of_such_an_image(environ: Mapping[str, str], settings: Mapping[str, str]) -> bool:
    zookeeper = settings.get("zookeeper.connect", "")
    return (
        any(environ.get(name) for name in _OF_IMAGES)
        or any(name.startswith(_BITNAMI) for name in environ)
        or bool(zookeeper and not zookeeper.startswith(OWN_ZOOKEEPER))
    )


def _by_name(listeners: str, settings: Mapping[str, str]) -> str:
    """These listeners without the controller's; one on every address has no host, as its name."""
    names = settings.get("controller.listener.names", _CONTROLLER)
    of_controller = {name.strip().upper() for name in names.split(",")}
    entries = (each.strip() for each in listeners.split(","))
    return ",".join(
        re.sub(r"://(0\.0\.0\.0|\[::\]):", "://:", each)
        for each in entries
        if each and each.partition("://")[0].upper() not in of_controller
    )
