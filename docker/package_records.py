"""Records of the packages whose files are in the image, where scanners look for them.

A package of Debian has a file in var/lib/dpkg/status.d, as in distroless images, with checksums of
its files here; its copyright is in usr/share/doc, the licence in usr/share/common-licenses.
Wheels have their own records, which are mended to list what is left of them. Python is in a list of
components (CycloneDX), as it comes from its sources.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

STATUS = "var/lib/dpkg/status.d"
COMPONENTS = "usr/share/sbom/python.cdx.json"
_STATUS_FILE = Path("/var/lib/dpkg/status")


def write_records(root: Path, copied: Iterable[Path]) -> list[str]:
    """Write the records of all packages that have one of these files.

    Args:
        root: of the image.
        copied: paths of files and directories of this system that were copied.

    Returns:
        Lines for people: package, version, source.
    """
    owners = {path: owner for path in copied if (owner := owner_of(path)) is not None}
    status = root / STATUS
    status.mkdir(parents=True)
    stanzas = _stanzas()
    lines = []
    for package in sorted(set(owners.values())):
        stanza = stanzas[package]
        (status / package).write_text(stanza + "\n")
        (status / f"{package}.md5sums").write_text(_checksums(root, package, owners))
        _copy_copyright(root, package)
        lines.append(f"{package} {_field(stanza, 'Version')} {_field(stanza, 'Source') or package}")
    licences = Path("/usr/share/common-licenses")
    if licences.is_dir():
        shutil.copytree(licences, root / "usr/share/common-licenses", symlinks=True)
    return lines


def owner_of(path: Path) -> str | None:
    """The package of a file; None if it belongs to none. Packages name files under / or /usr."""
    text = str(path)
    other = text.removeprefix("/usr") if text.startswith("/usr/") else f"/usr{text}"
    for each in (text, other):
        found = subprocess.run(
            ["dpkg-query", "-S", each], capture_output=True, text=True, check=False
        )
        for line in found.stdout.splitlines():
            if not line.startswith("diversion "):
                return line.partition(": ")[0].partition(",")[0].partition(":")[0]
    return None


def _stanzas() -> dict[str, str]:
    found = {}
    for stanza in _STATUS_FILE.read_text().split("\n\n"):
        if name := _field(stanza, "Package"):
            found[name] = stanza.strip("\n")
    return found


def _field(stanza: str, name: str) -> str:
    match = re.search(rf"^{name}: (.+)$", stanza, re.MULTILINE)
    return match[1] if match else ""


def _checksums(root: Path, package: str, owners: dict[Path, str]) -> str:
    """The lines of md5sum for the files of a package that are in the image, as they are there."""
    lines = []
    for path in sorted(path for path, owner in owners.items() if owner == package):
        place = re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", str(path)).lstrip("/")
        copied = root / place
        files = [copied] if copied.is_file() else sorted(copied.rglob("*"))
        for file in files:
            if file.is_file() and not file.is_symlink():
                digest = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
                lines.append(f"{digest}  {file.relative_to(root)}\n")
    return "".join(lines)


def _copy_copyright(root: Path, package: str) -> None:
    source = Path("/usr/share/doc") / package / "copyright"
    if source.exists():
        target = root / "usr/share/doc" / package
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target / "copyright")


def mend_wheel_records(packages: Path) -> None:
    """Write the RECORD of each wheel again: its files as they are, stripped, with their bytecode.

    Rows of files that were left out go. The format is that of Python's wheels (PEP 427).

    Args:
        packages: the directory that wheels are installed in.
    """
    for record in sorted(packages.glob("*.dist-info/RECORD")):
        with record.open(newline="") as file:
            names = [row[0] for row in csv.reader(file) if row]
        written = io.StringIO()
        rows = csv.writer(written, lineterminator="\n")
        for name in sorted({*names, *_bytecode(packages, names)}):
            path = packages / name
            if path == record or (path.suffix == ".pyc" and path.is_file()):
                rows.writerow((name, "", ""))
            elif path.is_file():
                data = path.read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
                rows.writerow((name, f"sha256={digest.decode()}", len(data)))
        record.write_text(written.getvalue())


def _bytecode(packages: Path, names: Iterable[str]) -> list[str]:
    """The compiled files of modules."""
    found = []
    for name in names:
        path = packages / name
        if path.suffix == ".py":
            compiled = path.parent.glob(f"__pycache__/{path.stem}.*.pyc")
            found += [str(each.relative_to(packages)) for each in compiled]
    return found


def write_python_record(root: Path) -> None:
    """Write a list of components that has Python; where it is Debian's, scanners know it."""
    version = platform.python_version()
    python = {
        "type": "application",
        "name": "python",
        "version": version,
        "licenses": [{"license": {"id": "Python-2.0"}}],
        "cpe": f"cpe:2.3:a:python:python:{version}:*:*:*:*:*:*:*",
        "purl": f"pkg:generic/python@{version}",
    }
    content = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": [python]}
    path = root / COMPONENTS
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content, indent=2) + "\n")
