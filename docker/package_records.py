"""Records of the packages of Debian whose files are in the image, where scanners look for them.

A file in var/lib/dpkg/status.d for each package, as in distroless images, with the checksums of
its files here; its copyright in usr/share/doc; the licences of these in usr/share/common-licenses.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

STATUS = "var/lib/dpkg/status.d"
_STATUS_FILE = Path("/var/lib/dpkg/status")


def write_records(root: Path, copied: Iterable[Path]) -> list[str]:
    """Write the records of all packages that have one of these files.

    Args:
        root: of the image.
        copied: paths of files and directories of this system that were copied.

    Returns:
        Lines for people: package, version, source.
    """
    owners = {path: owner for path in copied if (owner := _owner(path)) is not None}
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


def _owner(path: Path) -> str | None:
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
