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


def command_properties(file: Path | None = None) -> ClientProperties | None:
    """The properties in a file; None: in that of the variable; None if neither is given.

    Raises CannotRun.
    """
    path = str(file) if file is not None else os.environ.get(COMMAND_CONFIG)
    if not path:
        return None
    from ..broker.settings.properties import read_properties
    from ..client.properties import ClientProperties

    try:
        return ClientProperties.of(read_properties(Path(path).read_text()))
    except (OSError, ValueError) as wrong:
        raise _wrong(file, path, wrong) from None


def command_security(file: Path | None = None) -> ClientSecurity | None:
    """The security by these properties; None if no file is given. Raises CannotRun."""
    properties = command_properties(file)
    try:
        return None if properties is None else properties.security()
    except ValueError as wrong:
        raise _wrong(file, os.environ.get(COMMAND_CONFIG, ""), wrong) from None


def _wrong(file: Path | None, path: str, wrong: Exception) -> CannotRun:
    given = f"{COMMAND_CONFIG}={path}" if file is None else f"--command-config {file}"
    return CannotRun(f"{given}: {getattr(wrong, 'strerror', None) or wrong}")
