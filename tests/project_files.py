"""The files of the project, for the tests that read its source and its documents."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = (
    "audit",
    "broker",
    "browse",
    "cli",
    "client",
    "console",
    "coordinator",
    "kafka_tools",
    "lab",
    "metadata",
    "picture",
    "protocol",
    "security",
    "serving",
    "spark",
    "storage",
    "testing",
    "trace",
    "trials",
    "verdict",
    "why",
)
"""The folders of the product; installed, each is a package of `ottla`."""


def files_of_the_project() -> list[Path]:
    """The files that git has or would add; without git, all outside of .venv."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        paths = [path for path in ROOT.rglob("*") if ".venv" not in path.parts]
    else:
        paths = [ROOT / line for line in listed.stdout.splitlines()]
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


FILES = files_of_the_project()
MODULES = [path for path in FILES if path.suffix == ".py"]


def files_in(folder: str, pattern: str = "*.py") -> list[Path]:
    """The files below a folder of the project whose names fit a pattern.

    Raises:
        LookupError: there are none. A rule about the files of a folder that has moved would pass.
    """
    found = sorted((ROOT / folder).rglob(pattern))
    if not found:
        raise LookupError(f"{folder} has no {pattern}")
    return found


def name(path: Path) -> str:
    """The path from the root of the project."""
    return path.relative_to(ROOT).as_posix()
