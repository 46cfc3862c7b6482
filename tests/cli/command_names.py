"""The names of all commands, read from the app."""

from __future__ import annotations

import functools
from typing import Any

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


def with_option(option: str) -> list[str]:
    """The commands that take an option."""
    app = get_command(made(COMMANDS))
    found = []
    for words in commands():
        command: Any = app  # Any: groups and commands of click
        for word in words:
            command = command.commands[word]
        if any(option in each.opts for each in command.params):
            found.append(" ".join(words))
    return found
