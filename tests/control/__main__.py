"""`python -m tests.control`: tools of others drive the control by its description in OpenAPI.

openapi-python-client generates a client from /openapi.json, which then calls each operation of a
broker (`drive.py`); schemathesis sends requests that fit the description, and others, and checks
the answers. The tools are installed into an environment of their own. The exit status is 1 if one
of them fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.request import urlopen

from ottla.testing import Ottla

_HERE: Final = Path(__file__).resolve().parent
_TOOLS: Final = _HERE.parents[1] / ".cache/control-tools"
_WANTED: Final = _HERE / "requirements.txt"
CLIENT: Final = "ottla_control"


def main() -> int:
    """Run the tools of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.control", description=__doc__)
    parser.add_argument("--only", choices=("client", "schemathesis"))
    parser.add_argument(
        "--examples", type=int, default=20, help="of schemathesis, for each operation"
    )
    parser.add_argument("--seed", type=int, default=1, help="of schemathesis")
    options = parser.parse_args()
    tools = _installed()
    failed = []
    with TemporaryDirectory(prefix="control-") as scratch:
        if options.only != "schemathesis" and not _generated_client(tools, Path(scratch)):
            failed.append("the generated client")
        if options.only != "client" and not _schemathesis(
            tools, Path(scratch), options.examples, options.seed
        ):
            failed.append("schemathesis")
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else "nothing failed\n")
    return 1 if failed else 0


def _installed() -> Path:
    """The programs of the tools; installs them at the first run, and when their versions change."""
    programs, mark = _TOOLS / "bin", _TOOLS / "installed.txt"
    if not mark.exists() or mark.read_text() != _WANTED.read_text():
        venv.create(_TOOLS, with_pip=True, clear=True)
        subprocess.run([programs / "pip", "install", "-q", "-r", _WANTED], check=True)
        mark.write_text(_WANTED.read_text())
    return programs


def _generated_client(tools: Path, scratch: Path) -> bool:
    with Ottla(nodes=2, clock="manual") as broker:
        address = broker.order("control")
        broker.create_topic("led", replication_factor=2)
        description = scratch / "openapi.json"
        with urlopen(f"http://{address}/openapi.json", timeout=30) as answer:
            description.write_bytes(answer.read())
        generated = subprocess.run(
            [
                tools / "openapi-python-client", "generate", "--path", description,
                "--output-path", scratch / CLIENT, "--meta", "none", "--fail-on-warning",
            ],
            env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}, check=False,
        )  # fmt: skip
        if generated.returncode != 0:
            return False
        driven = subprocess.run(
            [tools / "python", _HERE / "drive.py", f"http://{address}", scratch / "trace.jsonl"],
            env=os.environ | {"PYTHONPATH": str(scratch)}, check=False,
        )  # fmt: skip
        return driven.returncode == 0


def _schemathesis(tools: Path, scratch: Path, examples: int, seed: int) -> bool:
    """It writes files where it runs, and so does the broker, which shall trace to files."""
    with chdir(scratch), Ottla(nodes=2) as broker:
        address = broker.order("control")
        done = subprocess.run(
            [
                tools / "schemathesis", "run", f"http://{address}/openapi.json",
                "--max-examples", str(examples), "--seed", str(seed), "--checks", "all",
                "--request-timeout", "60",
            ],
            check=False,
            env=os.environ
            | {"PYTHONPATH": str(_HERE), "SCHEMATHESIS_HOOKS": "schemathesis_hooks"},
        )  # fmt: skip
        return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
