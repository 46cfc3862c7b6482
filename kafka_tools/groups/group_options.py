"""What the options of `kafka-share-groups` and `kafka-streams-groups` have alike."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from ..options import WrongOptions, has
from ..session import properties_in

ALL: Final = ""
"""The value of --state without a text."""


def settings_of(given: argparse.Namespace) -> dict[str, str]:
    """The settings of the client: those of --command-config, and --timeout unless they have it."""
    return {"default.api.timeout.ms": str(given.timeout)} | properties_in(given.command_config)


def bracketed(*names: str) -> str:
    """Names of options, sorted, as Kafka's messages have them."""
    return ", ".join(f"[{name}]" for name in sorted(names))


def was_given(given: argparse.Namespace, name: str) -> bool:
    """Whether an option was given, --state without a text and a number 0 too."""
    value = getattr(given, name.replace("-", "_"))
    return value is not None and value is not False and value != []


def check_available(given: argparse.Namespace, needed: Mapping[str, Sequence[str]]) -> None:
    """Raise WrongOptions if an option was given without one of those that it belongs to."""
    missing = [
        name
        for name, owners in needed.items()
        if was_given(given, name) and not any(has(given, owner) for owner in owners)
    ]
    if missing:
        names = ", ".join(missing)
        raise WrongOptions(
            f"Option(s) [{names}] are unavailable given other options on the command line"
        )


def check_describe(given: argparse.Namespace, parts: Sequence[str]) -> None:
    """Raise WrongOptions unless --describe has a group and at most one part."""
    if not has(given, "group") and not given.all_groups:
        raise WrongOptions(
            f"Option [describe] takes one of these options: {bracketed('all-groups', 'group')}"
        )
    if sum(was_given(given, part) for part in parts) > 1:
        raise WrongOptions(
            f"Option [describe] takes at most one of these options: {bracketed(*parts)}"
        )
    if given.state:
        raise WrongOptions("Option [describe] does not take a value for [state]")


def check_reset_is_chosen(given: argparse.Namespace) -> None:
    """Raise WrongOptions unless --reset-offsets has one of --execute and --dry-run."""
    if given.dry_run and given.execute:
        raise WrongOptions("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not given.dry_run and not given.execute:
        raise WrongOptions("Option [reset-offsets] takes the option: [execute] or [dry-run]")


def forbid_second(given: argparse.Namespace, names: Sequence[str]) -> None:
    """Raise WrongOptions if two of the options were given."""
    chosen = [name for name in names if was_given(given, name)]
    if len(chosen) > 1:
        first, second = chosen[:2]
        raise WrongOptions(f'Option "[{first}]" can\'t be used with option "[{second}]"')


def forbid_with(given: argparse.Namespace, name: str, others: Sequence[str]) -> None:
    """Raise WrongOptions if `name` was given with one of the others."""
    for other in others:
        if was_given(given, name) and was_given(given, other):
            raise WrongOptions(f'Option "[{name}]" can\'t be used with option "[{other}]"')


def states_in(text: str, known: Sequence[str]) -> list[str]:
    """The states of a text with commas; none for an empty text.

    Raises:
        ValueError: a state is unknown.
    """
    by_lower = {state.lower(): state for state in known}
    words = [word.strip().lower() for word in text.split(",")] if text else []
    if not by_lower.keys() >= set(words):
        raise ValueError(f"Invalid state list '{text}'. Valid states are: {', '.join(known)}")
    return [by_lower[word] for word in words]
