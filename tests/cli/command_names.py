"""The names of all commands, read from the app."""

from __future__ import annotations

import functools

from typer.main import get_command

from ottla.cli.app import COMMANDS, made


@functools.cache
def commands() -> list[tuple[str, ...]]:
    """The words of each command that runs something."""
    found: list[tuple[str, ...]] = []
    for name, command in get_command(made(COMMANDS)).commands.items():  # type: ignore[attr-defined]  # a group
        inner = getattr(command, "commands", None)
        found += [(name,)] if inner is None else [(name, each) for each in inner]
    return found
