"""A planted bug: a text of one file, its replacement, and the tests that must find it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class StaleMutant(Exception):
    """The file does not contain the text exactly once, because the source has changed."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A bug.

    Attributes:
        name: unique, as words for the command line.
        file: path in the repository.
        right: text that the file contains exactly once.
        wrong: the replacement.
        breaks: the effect for a client or an operator.
        found_by: test files; at least one of their tests must fail.
    """

    name: str
    file: str
    right: str
    wrong: str
    breaks: str
    found_by: tuple[str, ...]

    def planted_in(self, source: str) -> str:
        """The source with the bug. Raises StaleMutant."""
        times = source.count(self.right)
        if times != 1:
            raise StaleMutant(f"{self.name}: its text is {times} times in {self.file}, not once")
        if self.right == self.wrong:
            raise StaleMutant(f"{self.name}: it changes nothing")
        return source.replace(self.right, self.wrong)

    def check(self, root: Path) -> None:
        """Raise StaleMutant unless the bug fits the files below `root`."""
        path = root / self.file
        if not path.is_file():
            raise StaleMutant(f"{self.name}: there is no {self.file}")
        try:
            compile(self.planted_in(path.read_text()), self.file, "exec")
        except SyntaxError as error:
            raise StaleMutant(f"{self.name}: it is no Python: {error}") from None
        for test in self.found_by:
            if not (root / test.partition("::")[0]).is_file():
                raise StaleMutant(f"{self.name}: there is no {test}")
