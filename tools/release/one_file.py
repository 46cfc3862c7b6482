"""`make zipapp`: Ottla and its dependencies in one file, dist/ottla.pyz, which a Python runs.

The archive has two entries, its start and the packages in another archive: Python reads the list of
an archive at each start, and that of the packages has 2,000 lines.
"""

from __future__ import annotations

import hashlib
import io
import sys
import zipapp
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from .numbers import ROOT, version
from .programs import run, say

_START: Final = Path(__file__).with_name("start_of_one_file.py")
# Archives have no time before this.
_TIME: Final = (1980, 1, 1, 0, 0, 0)


def make(path: Path, *, extras: str = "") -> None:
    """Write the file for this system and this Python.

    Args:
        path: of the file.
        extras: of the package, separated by commas.

    Raises:
        WrongRelease: the packages cannot be installed.
    """
    with TemporaryDirectory() as directory:
        what = f"{ROOT}[{extras}]" if extras else str(ROOT)
        pinned = ("-c", str(ROOT / "constraints.txt"))
        to = ("--python", sys.executable, "--target", directory)
        run("uv", "pip", "install", "-q", *to, *pinned, what)
        compile_all = (sys.executable, "-m", "compileall", "-q", "-s", directory)
        run(*compile_all, "--invalidation-mode", "unchecked-hash", directory)
        pack(Path(directory), path)
    say(f"{path}: {path.stat().st_size / 1e6:.1f} MB, for Python {_python()}")


def pack(packages: Path, path: Path, *, python: str = "") -> None:
    """Write an archive of installed packages that a Python of a version, or of this one, runs."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(packages.rglob("*")):
            if file.is_file():
                entry = zipfile.ZipInfo(file.relative_to(packages).as_posix(), _TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, file.read_bytes())
    content = packed.getvalue()
    name = f"pyz-{version()}-{hashlib.sha256(content).hexdigest()[:16]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as directory:
        start = _START.read_text().replace("@NAME@", name).replace("@PYTHON@", python or _python())
        (Path(directory) / "__main__.py").write_text(start)
        (Path(directory) / "packages.zip").write_bytes(content)
        zipapp.create_archive(directory, path, interpreter="/usr/bin/env python3")


def _python() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"
