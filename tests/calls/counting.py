"""Counts the calls of functions of Ottla, and the files that they are in.

A call is one entry of a function or method of the product, one step of a coroutine or generator
included. Not counted are functions of the library, of C and of tests, and comprehensions and
generator expressions, which newer versions of Python inline: so all versions count alike.
A decoder or encoder that the codec has compiled counts as a function of the file that made it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Protocol

import ottla

from ..project_files import ROOMS, ROOT

_INLINED = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_COMPILED = {"<decoder": "protocol/decoding.py", "<encoder": "protocol/encoding.py"}
_PLACES = tuple(Path(each).resolve() for each in ottla.__path__)


class Measure(Protocol):
    """Measures the work that is done between `begin` and `end`."""

    def begin(self) -> None: ...

    def end(self) -> None: ...


@contextmanager
def measured(measure: Measure) -> Iterator[None]:
    """Measure the work of a block."""
    measure.begin()
    try:
        yield
    finally:
        measure.end()


@dataclass
class Calls:
    """The calls so far, by function.

    Attributes:
        by_code: how often each function was entered.
    """

    by_code: Counter[CodeType] = field(default_factory=Counter)

    def begin(self) -> None:
        """Count from now on, in this thread; a profiler or debugger of the same kind pauses."""
        self._before = sys.getprofile()
        sys.setprofile(self._saw)

    def end(self) -> None:
        """Count no more."""
        sys.setprofile(self._before)

    def _saw(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.by_code[frame.f_code] += 1

    def by_function(self) -> dict[tuple[str, str], int]:
        """The calls of each function of the product, by its file and its qualified name."""
        found: Counter[tuple[str, str]] = Counter()
        for code, count in self.by_code.items():
            file = product_file(code.co_filename)
            if file is not None and code.co_name not in _INLINED:
                found[file, code.co_qualname] += count
        return dict(found)

    def count(self) -> int:
        """The number of calls."""
        return sum(self.by_function().values())

    def files(self) -> int:
        """The number of files of these functions."""
        return len(files_of(self.by_function()))


def files_of(functions: Iterable[tuple[str, str]]) -> set[str]:
    """The files of functions."""
    return {file for file, _ in functions}


def product_file(name: str) -> str | None:
    """ROOM/FILE.py for a file of the product, or for what the codec compiled; else None."""
    if name.startswith("<"):
        return _COMPILED.get(name.split()[0])
    return _under(name)


@cache
def _under(name: str) -> str | None:
    path = Path(name).resolve()
    for place in (*_PLACES, ROOT):
        if path.is_relative_to(place):
            inner = path.relative_to(place)
            return inner.as_posix() if inner.parts[0] in ROOMS else None
    return None
