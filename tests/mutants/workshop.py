"""A copy of the source in which bugs are planted, and the runs of its tests.

The copy has the rooms under their installed name and is first on PYTHONPATH, so that tests and the
brokers they start import it instead of the working tree, which stays as it is.
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
FACADE: Final = "facade"
ROOMS: Final = (FACADE, "broker", "coordinator", "metadata", "protocol", "spark", "storage")
_BESIDE: Final = ("tests", "pyproject.toml")
_PACKAGE: Final = "ottla"
_OF_A_TEST_S: Final = 60
_OF_A_RUN_S: Final = 300
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_NOT_COPIED: Final = shutil.ignore_patterns("__pycache__")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run of tests ended.

    Attributes:
        status: pytest's; None when it took too long as a whole.
        failed: the ids of the tests that failed.
        said: the end of what pytest wrote.
    """

    status: int | None
    failed: tuple[str, ...]
    said: str

    @property
    def is_found(self) -> bool:
        """Whether a test failed, rather than pytest or the import of the source."""
        return self.status == 1 and bool(self.failed)


class Workshop:
    """A copy of the repository's source and tests.

    Args:
        directory: empty; the copy is made there.
        root: what is copied.
    """

    def __init__(self, directory: Path, root: Path = ROOT) -> None:
        self._directory = directory
        for name in _BESIDE:
            source = root / name
            if source.is_dir():
                shutil.copytree(source, directory / name, ignore=_NOT_COPIED)
            else:
                shutil.copy2(source, directory / name)
        for room in ROOMS:
            if (root / room).is_dir():
                shutil.copytree(
                    root / room, self._path_of(room), ignore=_NOT_COPIED, dirs_exist_ok=True
                )

    def run(self, tests: Sequence[str], *, all_of_them: bool = False) -> Outcome:
        """Run test files, up to the first failure unless all of them are wanted."""
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
                said, _ = process.communicate(timeout=_OF_A_RUN_S)
                status: int | None = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                said, _ = process.communicate()
                status = None
        return Outcome(status, tuple(_FAILED.findall(said)), said[-2000:])

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """With the bug in the copy. Raises StaleMutant."""
        path = self._path_of(mutant.file)
        right = path.read_text()
        self._write(path, mutant.planted_in(right))
        try:
            yield
        finally:
            self._write(path, right)

    def _path_of(self, file: str) -> Path:
        """Where a file or folder of the repository is in the copy."""
        room, _, rest = file.partition("/")
        package = self._directory / "site" / _PACKAGE
        return (package if room == FACADE else package / room) / rest

    @staticmethod
    def _write(path: Path, source: str) -> None:
        """Without its bytecode: that is compared by second and size, which may be the same."""
        path.write_text(source)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
