"""`python -m tests.image`: build the container image and test it in a container engine."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from . import commands, compose_files, connect, contents, documented, start, starters, volumes
from .engine import (
    IMAGE,
    Failed,
    build,
    call,
    compressed_size,
    engine,
    say,
)

LIMIT_BYTES = 45_000_000


def main() -> int:
    """Build, measure, and run all checks; exit status 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.image", description=__doc__)
    parser.add_argument("--no-build", action="store_true", help=f"test the image {IMAGE} as it is")
    parser.add_argument("--only", default="", metavar="TEXT", help="checks with this in the name")
    given = parser.parse_args()
    try:
        say(f"engine: {engine()} {call('version', '--format', '{{.Client.Version}}').strip()}")
        if not given.no_build:
            began = time.monotonic()
            build()
            say(f"built in {time.monotonic() - began:.0f} s")
        checks = [(name, check) for name, check in _checks() if given.only in name]
    except Failed as failed:
        say(str(failed))
        return 1
    failures = [name for name, check in checks if not _holds(name, check)]
    say(f"{len(checks) - len(failures)} of {len(checks)} checks hold")
    return bool(failures)


def _checks() -> list[tuple[str, Callable[[], None]]]:
    compose = _compose()
    checks: list[tuple[str, Callable[[], None]]] = [
        ("size of the image", _check_size),
        ("time until the broker answers", start.check),
        *((f"command: {name}", check) for name, check in commands.CHECKS.items()),
        *((f"contents: {name}", check) for name, check in contents.CHECKS.items()),
        *((f"volumes: {name}", check) for name, check in volumes.CHECKS.items()),
        *((f"documented: {name}", check) for name, check in documented.CHECKS.items()),
        *((f"connect: {name}", check) for name, check in connect.CHECKS.items()),
    ]
    checks += [
        (f"testcontainers: {name}", partial(starters.check, sequence))
        for name, sequence in starters.SEQUENCES.items()
    ]
    checks += [
        (f"compose: {file.name}", partial(compose_files.check, file, compose))
        for file in compose_files.files()
    ]
    return checks


def _holds(name: str, check: Callable[[], None]) -> bool:
    began = time.monotonic()
    try:
        check()
    except Exception as failed:  # the other checks still run
        say(f"FAILED {name}: {type(failed).__name__}: {failed}")
        return False
    say(f"ok     {name} ({time.monotonic() - began:.1f} s)")
    return True


def _compose() -> str:
    """The command of podman-compose: OTTLA_COMPOSE, on the path, or beside this Python."""
    beside = Path(sys.executable).with_name("podman-compose")
    found = os.environ.get("OTTLA_COMPOSE") or shutil.which("podman-compose")
    if not found and not beside.exists():
        raise Failed("make test-image needs podman-compose: `pip install podman-compose`")
    return found or str(beside)


def _check_size() -> None:
    size = compressed_size()
    say(f"size: {size / 1e6:.1f} MB compressed")
    if size > LIMIT_BYTES:
        raise Failed(f"the image has {size:,} bytes, more than {LIMIT_BYTES:,}")


if __name__ == "__main__":
    sys.exit(main())
