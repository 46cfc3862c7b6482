"""`ottla version`: versions of Ottla, of Python, and of the formats that it reads and writes."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import typer

from ..console.tables import print_json
from .shared_options import AsJson, guarded


def add(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("version", epilog="Example: ottla version --json")(guarded(_version))


def _version(as_json: AsJson = False) -> None:
    """Print versions of Ottla, Python and the data formats."""
    from .. import __version__
    from ..broker.releases.release import RELEASES
    from ..protocol.batch import MAGIC

    kafka = list(RELEASES)[-1]
    found = {
        "ottla": __version__,
        "kafka": kafka,
        "record_batch_format": MAGIC,
        "data_directory": f"Kafka {kafka}'s, KRaft (meta.properties version 1)",
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "executable": sys.executable,
        "package": str(Path(__file__).parents[1]),
    }
    if as_json:
        print_json(found)
        return
    width = max(map(len, found))
    for name, value in found.items():
        sys.stdout.write(f"{name.replace('_', ' ').ljust(width)}  {value}\n")
