"""The sums of the files that are published, and a signature of them.

Releases are attested by their host; a key that is thrown away tries the same without one.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Final

from .numbers import ROOT
from .programs import run

SUMS: Final = "SHA256SUMS"
_PAGE: Final = ROOT / "docs/how-to/verify-a-release.md"


def write_sums(directory: Path) -> Path:
    """Write the SHA-256 of each file that is published, in the format of sha256sum."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(directory.iterdir())
        if path.is_file() and not path.name.startswith((SUMS, "."))  # uv leaves a .gitignore
    ]
    sums = directory / SUMS
    sums.write_text("".join(lines))
    return sums


def documented_check() -> str:
    """The command by which the documents say that a user checks the files of a release."""
    (line,) = (each for each in _PAGE.read_text().splitlines() if each.startswith("    sha256sum "))
    return line.strip()


def verify(directory: Path) -> None:
    """Check the files of a release as the documents say. Raises WrongRelease."""
    run("sh", "-c", documented_check(), at=directory)


def sign(path: Path, key: Path) -> Path:
    """Sign a file with a private key of Ed25519, by openssl; return the signature."""
    signature = path.with_name(f"{path.name}.sig")
    run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", str(key), "-in", str(path),
        "-out", str(signature))  # fmt: skip
    return signature


def is_signed(path: Path, signature: Path, public_key: Path) -> bool:
    """Whether a signature of a file is that of a key."""
    command = ("openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", str(public_key))
    more = ("-in", str(path), "-sigfile", str(signature))
    return subprocess.run([*command, *more], capture_output=True).returncode == 0


def new_key(directory: Path) -> tuple[Path, Path]:
    """Make a key that is thrown away; return its private and its public part."""
    private, public = directory / "key.pem", directory / "key.pub"
    run("openssl", "genpkey", "-algorithm", "ed25519", "-out", str(private))
    run("openssl", "pkey", "-in", str(private), "-pubout", "-out", str(public))
    return private, public
