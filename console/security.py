"""The security of commands: the file of client properties that OTTLA_COMMAND_CONFIG names."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .options import CannotRun

if TYPE_CHECKING:
    from ..client.properties import ClientProperties
    from ..client.security import ClientSecurity

COMMAND_CONFIG: Final = "OTTLA_COMMAND_CONFIG"
_NEAR: Final = 0.8
_OF_LIBRDKAFKA: Final = frozenset(
    ("https.ca.location", "ssl.crl.location", "ssl.engine.location", "https.ca.pem")
)
"""Names like those of properties that commands read, which they do not need."""


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
        properties = read_properties(Path(path).read_text())
        _say_misspelt(_given(file, path), frozenset(properties))
        return ClientProperties.of(properties)
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
    return CannotRun(f"{_given(file, path)}: {getattr(wrong, 'strerror', None) or wrong}")


def _given(file: Path | None, path: str) -> str:
    return f"{COMMAND_CONFIG}={path}" if file is None else f"--command-config {file}"


@cache  # a command that has several clients says it once
def _say_misspelt(given: str, names: Collection[str]) -> None:
    """Print a line about names that are nearly those of properties that secure a client.

    The file may be one of another client, with properties that commands do not need.
    """
    from difflib import get_close_matches

    from ..broker.settings.config import is_known
    from ..client.properties import READ
    from .tables import print_error

    hints = []
    for name in sorted(set(names) - READ):
        near = get_close_matches(name.lower(), READ, n=1, cutoff=_NEAR)
        if near and not is_known(name) and name not in _OF_LIBRDKAFKA:
            hints.append(f"{name} (did you mean {near[0]}?)")
    if hints:
        listed = ", ".join(hints)
        print_error(f"ottla: {given}: no properties of a client, which change nothing: {listed}")
