"""What a build starts from, by its digest: the base image, and the wheels of the image.

The digest of the base image is asked once for a release, so that the tests and the image have the
same one; the Dockerfile has a tag alone, and so its security updates. The wheels' are in a file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from .numbers import ROOT, WrongRelease
from .programs import run

WHEELS: Final = ROOT / "docker/requirements.txt"
BUILD: Final = ROOT / "docker/build-requirements.txt"
# What the image has beside the dependencies: listeners with signed tokens, PKCS12 stores.
EXTRAS: Final = ("oauth", "tls")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HEAD: Final = "# Written by `make locks`. {}\n"


def base_image() -> str:
    """The name and the tag of the image that the Dockerfile starts from."""
    match = re.search(r"^ARG BASE=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert match is not None
    return match.group(1)


def digest_of(image: str, *, docker: str = "docker") -> str:
    """The digest that an image's tag names now, of all its architectures, as a registry says.

    Args:
        image: its name and tag.
        docker: the program that asks.

    Raises:
        WrongRelease: docker does not know it.
    """
    told = run(
        *(docker, "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}")
    ).strip()
    if not _DIGEST.fullmatch(told):
        raise WrongRelease(f"the digest of {image} is {told or 'empty'}")
    return told


def write_locks() -> None:
    """Write the files of the wheels' hashes, at the versions of constraints.txt."""
    extras = [word for each in EXTRAS for word in ("--extra", each)]
    _lock(WHEELS, "The wheels of the image, for each Python.", ROOT / "pyproject.toml", *extras)
    _lock(BUILD, "What builds the image's wheel of Ottla.", ROOT / "docker/build-requirements.in")


def _lock(path: Path, title: str, source: Path, *options: str) -> None:
    text = run(
        *("uv", "pip", "compile", "-q", "--universal", "--python-version", "3.11"),
        *("--generate-hashes", "--no-header", "--no-annotate"),
        *("-c", str(ROOT / "constraints.txt"), *options, str(source)),
        at=ROOT,
    )
    path.write_text(_HEAD.format(title) + text)
