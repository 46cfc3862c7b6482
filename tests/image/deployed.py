"""`python -m tests.image.deployed`: what a scanner and Kubernetes see of the image.

The image is that of `make test-image`, or OTTLA_IMAGE. It needs podman, and uv for the scanner.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

from . import kubernetes, scanned
from .engine import Failed, say

CHECKS: dict[str, Callable[[], None]] = {
    "a scanner lists each package, and what each file belongs to": scanned.check,
    "the manifest of Kubernetes runs": kubernetes.check,
}


def main() -> int:
    """Run all checks; exit status 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.image.deployed", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="checks with this in the name")
    given = parser.parse_args()
    failures = 0
    for name, check in CHECKS.items():
        if given.only not in name:
            continue
        began = time.monotonic()
        try:
            check()
        except (Failed, subprocess.SubprocessError, OSError) as failed:
            failures += 1
            say(f"FAILED {name}: {failed}")
        else:
            say(f"ok     {name} ({time.monotonic() - began:.1f} s)")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
