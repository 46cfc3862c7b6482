"""What the tools of consumer groups, share groups and Streams groups have alike."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from ...client.admin.groups import delete_group
from ...client.cluster_client import Client, ErrorAnswer
from ...protocol.errors import Code
from ..options import Options, WrongOptions, has
from ..session import Failure, failure_of, properties_in
from ..texts import line

ALL: Final = ""
"""The value of --state without a text."""
INACTIVE: Final = ("Empty", "Dead")
"""The states of groups whose offsets can be reset."""


def add_reset_options(
    made: Options, effect: str, *, is_share: bool = False, dry_run: str = ""
) -> None:
    """Add the options that say how --reset-offsets resets.

    Args:
        effect: what --execute does.
        is_share: without those that share groups have not.
        dry_run: more about --dry-run.
    """
    made.flag("--execute", f"with --reset-offsets: {effect}")
    made.flag("--dry-run", f"with --reset-offsets: print them only{dry_run}")
    made.flag("--export", "with --reset-offsets: print CSV")
    for name in ("to-earliest", "to-latest", "to-current"):
        made.flag(f"--{name}", "reset to this offset")
    made.value("--to-offset", "reset to an offset", number=True)
    made.value("--to-datetime", "reset to the time YYYY-MM-DDThh:mm:ss.sss")
    if not is_share:
        made.value("--by-duration", "reset to so long ago, as P1DT2H3M4S")
        made.value("--shift-by", "reset by a number of records, back if negative", number=True)
    made.value("--from-file", "reset to the offsets in a CSV file")


def settings_of(given: argparse.Namespace) -> dict[str, str]:
    """The settings of the client: those of --command-config, and --timeout unless they have it."""
    return {"default.api.timeout.ms": str(given.timeout)} | properties_in(given.command_config)


def bracketed(*names: str) -> str:
    """Names of options, sorted, as Kafka's messages have them."""
    return ", ".join(f"[{name}]" for name in sorted(names))


def check_available(given: argparse.Namespace, needed: Mapping[str, Sequence[str]]) -> None:
    """Raise WrongOptions if an option was given without one of those that it belongs to."""
    missing = [
        name
        for name, owners in needed.items()
        if has(given, name) and not any(has(given, owner) for owner in owners)
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
    if sum(has(given, part) for part in parts) > 1:
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
    chosen = [name for name in names if has(given, name)]
    if len(chosen) > 1:
        first, second = chosen[:2]
        raise WrongOptions(f'Option "[{first}]" can\'t be used with option "[{second}]"')


def forbid_with(given: argparse.Namespace, name: str, others: Sequence[str]) -> None:
    """Raise WrongOptions if `name` was given with one of the others."""
    for other in others:
        if has(given, name) and has(given, other):
            raise WrongOptions(f'Option "[{name}]" can\'t be used with option "[{other}]"')


def words_in(text: str | None, known: Sequence[str], what: str = "state") -> list[str]:
    """The known words of an option's text with commas; none if it has no text.

    Raises:
        ValueError: a word is unknown.
    """
    by_lower = {word.lower(): word for word in known}
    words = [word.strip().lower() for word in text.split(",")] if text else []
    if not by_lower.keys() >= set(words):
        valid = f"Valid {what.removesuffix('s')}s are: {', '.join(known)}"
        raise ValueError(f"Invalid {what} list '{text}'. {valid}")
    return [by_lower[word] for word in words]


def state_of(ask: Callable[[], str]) -> str:
    """The state of a group that `ask` describes; Dead if there is no such group."""
    try:
        return ask()
    except ErrorAnswer as refused:
        if refused.code != Code.GROUP_ID_NOT_FOUND:
            raise
        return "Dead"


def may_be_reset(group_id: str, state: str) -> bool:
    """Whether a group in a state is inactive; prints it if not."""
    if state in INACTIVE:
        return True
    line(
        f"\nError: Assignments can only be reset if the group '{group_id}' is inactive, but the"
        f" current state is {state}."
    )
    return False


def delete_each(
    client: Client, names: Iterable[str], why_not: Callable[[str], Failure | None]
) -> dict[str, Failure]:
    """Delete groups unless `why_not` says why one is not; returns why, by name."""
    failed: dict[str, Failure] = {}
    for name in names:
        why = why_not(name)
        if why is None:
            try:
                delete_group(client, name)
            except ErrorAnswer as refused:
                why = failure_of(refused)
        if why is not None:
            failed[name] = why
    return failed


def print_deletion(
    kind: str, names: Iterable[str], failed: Mapping[str, Failure], end: str = ""
) -> None:
    """Print which groups are deleted, and why others are not.

    Args:
        kind: of the groups, in the plural.
        end: of the line with those that are deleted beside others that are not.
    """
    done = ", ".join(f"'{name}'" for name in names if name not in failed)
    if not failed:
        line(f"Deletion of requested {kind} ({done}) was successful.")
        return
    line(f"\nError: Deletion of some {kind} failed:")
    for name, failure in failed.items():
        line(f"* Group '{name}' could not be deleted due to: {failure}")
    if done:
        line(f"\nThese {kind} were deleted successfully: {done}{end}")
