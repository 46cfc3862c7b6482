"""Programs that a step of a release runs: uv, git, openssl, docker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .numbers import WrongRelease


def environment(**variables: str) -> dict[str, str]:
    """The variables of a program: this Python's programs come first, its packages are unknown."""
    made = {**os.environ, **variables}
    made["PATH"] = f"{Path(sys.executable).parent}:{made['PATH']}"
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        made.pop(name, None)
    return made


def run(*command: str, at: Path | None = None, **variables: str) -> str:
    """Run a program; return its standard output. Raises WrongRelease if it fails."""
    try:
        done = subprocess.run(
            command, cwd=at, env=environment(**variables), capture_output=True, text=True
        )
    except OSError as error:
        raise WrongRelease(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise WrongRelease(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
