"""A copy of the source in which bugs are planted, and the runs of its tests.

The copy has the rooms under their installed name and is first on PYTHONPATH, so that tests and the
the brokers that they start import it instead of the working tree.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .mutant import Mutant

ROOT: Final = Path(__file__).parents[2]
_BESIDE: Final = ("tests", "pyproject.toml")
_SOURCE: Final = "src"
_PACKAGE: Final = "ottla"
_OF_A_TEST_S: Final = 60
_OF_A_RUN_S: Final = 300
_OF_ALL_TESTS_S: Final = 1800
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_NOT_COPIED: Final = shutil.ignore_patterns("__pycache__", "*.egg-info")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run of tests.

    Attributes:
        status: exit status of pytest; None after the time limit of the run.
        failed: the ids of the tests that failed.
        output: the end of pytest's output.
    """

    status: int | None
    failed: tuple[str, ...]
    output: str

    @property
    def is_found(self) -> bool:
        """Whether a test failed, and not pytest or the import of the source."""
        return self.status == 1 and bool(self.failed)


class Workshop:
    """A copy of the repository's source and tests.

    Args:
        directory: an empty directory for the copy.
        root: the repository.
    """

    def __init__(self, directory: Path, root: Path = ROOT) -> None:
        self._directory = directory
        for name in _BESIDE:
            source = root / name
            if source.is_dir():
                shutil.copytree(source, directory / name, ignore=_NOT_COPIED)
            else:
                shutil.copy2(source, directory / name)
        # The links to the rooms become copies of them.
        shutil.copytree(root / _SOURCE, directory / "site", ignore=_NOT_COPIED)

    def run(self, tests: Sequence[str], *, all_of_them: bool = False) -> Outcome:
        """Run test files until the first failure, or all of them."""
        command = [
            sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "--no-header",
            "-p", "no:cacheprovider", "--timeout", str(_OF_A_TEST_S), *tests,
        ]  # fmt: skip
        if not all_of_them:
            command.append("-x")
        with subprocess.Popen(
            command,
            cwd=self._directory,
            env={**os.environ, "PYTHONPATH": str(self._directory / "site")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        ) as process:
            try:
                limit_s = _OF_ALL_TESTS_S if all_of_them else _OF_A_RUN_S
                output, _ = process.communicate(timeout=limit_s)
                status: int | None = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                status = None
        return Outcome(status, tuple(_FAILED.findall(output)), output[-2000:])

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """Plant the bug in the copy inside the block. Raises StaleMutant."""
        path = self._path_of(mutant.file)
        right = path.read_text()
        self._write(path, mutant.planted_in(right))
        try:
            yield
        finally:
            self._write(path, right)

    def _path_of(self, file: str) -> Path:
        """The path of the repository's file or folder in the copy."""
        site = self._directory / "site"
        if file.startswith(f"{_SOURCE}/"):
            return site / file.removeprefix(f"{_SOURCE}/")
        return site / _PACKAGE / file

    @staticmethod
    def _write(path: Path, source: str) -> None:
        """Write a file and delete its bytecode, because Python compares only second and size."""
        path.write_text(source)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
