"""The controller that `kafka-metadata-quorum add-controller` adds, by its file of settings."""

from __future__ import annotations

import string
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from ..broker.settings.definitions import BadSetting
from ..broker.settings.listeners import Listener, parse_listeners
from .java_numbers import java_int
from .texts import id_text

_IS_IT: Final = "Is this a valid controller configuration file?"
_META: Final = "meta.properties"
_MOST: Final = 24
_SIGNS: Final = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"


class AddedController(NamedTuple):
    """A controller that is no voter yet.

    Attributes:
        endpoints: name, host and port of each of its listeners.
    """

    node_id: int
    directory_id: UUID
    endpoints: tuple[tuple[str, str, int], ...]

    def __str__(self) -> str:
        texts = ", ".join(f"{name}://{_shown(host)}:{port}" for name, host, port in self.endpoints)
        return (
            f"controller {self.node_id} with directory id {id_text(self.directory_id)}"
            f" and endpoints: {texts}"
        )


def read_controller(settings: Mapping[str, str]) -> AddedController:
    """The controller of a file of settings.

    Raises:
        ValueError: a setting or its directory's file is missing or wrong, in Kafka's words.
    """
    if "node.id" not in settings:
        raise ValueError(f"node.id not found in configuration file. {_IS_IT}")
    node_id = java_int(settings["node.id"])
    if node_id < 0:
        raise ValueError(f"node.id was negative in configuration file. {_IS_IT}")
    if "controller" not in _entries(settings, "process.roles"):
        raise ValueError(
            f"process.roles did not contain 'controller' in configuration file. {_IS_IT}"
        )
    directory = settings.get("metadata.log.dir")
    if directory is None:
        directories = _entries(settings, "log.dirs")
        if not directories:
            raise ValueError(f"Neither metadata.log.dir nor log.dirs were found. {_IS_IT}")
        directory = directories[0]
    return AddedController(node_id, _directory_id(directory), _endpoints(settings))


def directory_id_in(text: str) -> UUID:
    """The id of a text in base64 (Uuid.fromString). Raises ValueError, in Java's words."""
    if len(text) > _MOST:
        raise ValueError(
            f"Input string with prefix `{text[:_MOST]}` is too long to be decoded as a base64 UUID"
        )
    core = text.rstrip("=")
    for sign in core:
        if sign not in _SIGNS:
            raise ValueError(f"Illegal base64 character {ord(sign):x}")
    if len(core) % 4 == 1:
        raise ValueError("Last unit does not have enough valid bits")
    data = urlsafe_b64decode(core + "=" * (-len(core) % 4))
    if len(data) != 16:
        raise ValueError(
            f"Input string `{text}` decoded as {len(data)} bytes, which is not equal to the"
            " expected 16 bytes of a base64-encoded UUID"
        )
    return UUID(bytes=data)


def _entries(settings: Mapping[str, str], name: str) -> list[str]:
    return [each.strip() for each in settings.get(name, "").split(",") if each.strip()]


def _directory_id(directory: str) -> UUID:
    from ..broker.settings.properties import read_properties

    try:
        found = read_properties((Path(directory) / _META).read_text())
    except (OSError, ValueError):
        raise ValueError(f"Unable to read {_META} from {directory}") from None
    if "directory.id" not in found:
        raise ValueError(f"No directory id found in {directory}")
    return directory_id_in(found["directory.id"])


def _endpoints(settings: Mapping[str, str]) -> tuple[tuple[str, str, int], ...]:
    names = _entries(settings, "controller.listener.names")
    if not names:
        raise ValueError(f"controller.listener.names was not found. {_IS_IT}")
    found: dict[str, Listener] = {}
    for setting in ("listeners", "advertised.listeners"):
        try:
            listeners = parse_listeners(setting, settings.get(setting, ""))
        except BadSetting as wrong:
            raise ValueError(str(wrong)) from None
        found |= {each.name: each for each in listeners}
    for name in names:
        if name.upper() not in found:
            raise ValueError(f"Cannot find information about controller listener name: {name}")
    chosen = [found[name.upper()] for name in names]
    return tuple((each.name, each.host or "localhost", each.port) for each in chosen)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
