"""The security of commands: the file of client properties that OTTLA_COMMAND_CONFIG names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .options import CannotRun

if TYPE_CHECKING:
    from ..client.properties import ClientProperties
    from ..client.security import ClientSecurity

COMMAND_CONFIG: Final = "OTTLA_COMMAND_CONFIG"


def command_properties() -> ClientProperties | None:
    """The properties in the file of the variable; None if it is not set. Raises CannotRun."""
    path = os.environ.get(COMMAND_CONFIG)
    if not path:
        return None
    from ..broker.settings.properties import read_properties
    from ..client.properties import ClientProperties

    try:
        return ClientProperties.of(read_properties(Path(path).read_text()))
    except (OSError, ValueError) as wrong:
        raise _wrong(path, wrong) from None


def command_security() -> ClientSecurity | None:
    """The security by these properties; None if the variable is not set. Raises CannotRun."""
    properties = command_properties()
    try:
        return None if properties is None else properties.security()
    except ValueError as wrong:
        raise _wrong(os.environ[COMMAND_CONFIG], wrong) from None


def _wrong(path: str, wrong: Exception) -> CannotRun:
    return CannotRun(f"{COMMAND_CONFIG}={path}: {wrong}")
