"""What an exhibit is, and what a check says of its program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ...trace.exchanges import Exchange
from .replay_trial import ReplayTrial
from .seen import Seen


class Shows(Enum):
    """What a replay shows."""

    BUG = "the bug"
    NO_BUG = "no bug"
    NEITHER = "neither the bug nor the right result"


class Verdict(NamedTuple):
    """What a check says.

    Attributes:
        shows: the bug or not.
        text: what was seen, in a sentence.
        events: numbers of the trace's events that show it.
    """

    shows: Shows
    text: str
    events: Sequence[int] = ()


def bug(text: str, *shown: Exchange) -> Verdict:
    """The bug was seen."""
    return Verdict(Shows.BUG, text, [each.seq for each in shown])


def no_bug(text: str, *shown: Exchange) -> Verdict:
    """The right result was seen."""
    return Verdict(Shows.NO_BUG, text, [each.seq for each in shown])


def neither(seen: Seen) -> Verdict:
    """Something else was seen: the end of the output."""
    end = " | ".join(each for each in seen.output[-4:] if each.strip())
    how = "did not end in time" if seen.status is None else f"ended with status {seen.status}"
    return Verdict(Shows.NEITHER, f"the program {how}: {end}")


def nothing(trial: ReplayTrial) -> None:
    """A lab that does nothing."""


class Exhibit(NamedTuple):
    """A published bug of a client, and how it is shown.

    Attributes:
        name: for the command line.
        client: its key in `install.CLIENTS`.
        title: the bug in a few words.
        issue: the address of its issue, or of the change that mends it.
        story: what happens, in plain words.
        affected, fixed: versions of the client; the fixed one is the first, if it can be had.
        program: its file in `programs`.
        check: decides from what was seen; None if it is neither the bug nor the right result.
        before: what the lab does before the program starts; the topic exists.
        during: what the lab does while the program runs.
        nodes, partitions: of the broker, and of the exhibit's topic.
        settings: of the broker.
    """

    name: str
    client: str
    title: str
    issue: str
    story: str
    affected: str
    fixed: str
    program: str
    check: Callable[[Seen], Verdict | None]
    before: Callable[[ReplayTrial], None] = nothing
    during: Callable[[ReplayTrial], None] = nothing
    nodes: int = 1
    partitions: int = 1
    settings: Mapping[str, str] = {}  # never changed
