"""Bugs to plant into the simulated code; the simulation must find each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Patch = tuple[Any, str, Any]
"""An object, the name of its attribute, and the attribute's new value."""
Patches = Callable[[], list[Patch]]


@dataclass(frozen=True)
class Mutation:
    """A bug.

    Attributes:
        name: the bug, as words for the command line.
        patches: makes the wrong functions.
        within: number of seeds, one of which finds it.
        first: the first of these seeds.
    """

    name: str
    patches: Patches
    within: int
    first: int = 0


class Plants(dict[str, Mutation]):
    """The bugs of one simulation, by name."""

    def bug(self, within: int, first: int = 0) -> Callable[[Patches], Patches]:
        """Register a function that makes the patches of a bug; the bug gets its name."""

        def register(patches: Patches) -> Patches:
            name = patches.__name__.strip("_").replace("_", "-")
            self[name] = Mutation(name, patches, within, first)
            return patches

        return register

    @contextmanager
    def planted(self, name: str) -> Iterator[None]:
        """Plant the bug of that name (empty: none) inside the block. Raises KeyError."""
        patches = self[name].patches() if name else []
        before = [(owner, attribute, owner.__dict__[attribute]) for owner, attribute, _ in patches]
        try:
            for owner, attribute, wrong in patches:
                setattr(owner, attribute, wrong)
            yield
        finally:
            for owner, attribute, right in before:
                setattr(owner, attribute, right)
