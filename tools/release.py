"""The steps of a release, which .github/workflows/release.yml calls and `make release-check` tries.

    python -m tools.release names v0.1.0          the version and the tags of the image
    python -m tools.release check [--keep DIR]    build, install, list, sum, sign with a new key

`names` needs Python alone. `check` needs git, openssl and uv, and packages from PyPI; it works in a
clone and in empty directories, as a user would.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).parent.parent
SUMS: Final = "SHA256SUMS"
SBOM: Final = "sbom.cdx.json"
# Programs that are run by uv, at these versions.
_CYCLONEDX: Final = "cyclonedx-bom==7.5.0"
_TWINE: Final = "twine==6.2.0"
# Confluent's platform 8.x has Kafka 4.x.
_CONFLUENT_AHEAD: Final = 4
_BLOCK: Final = re.compile(r"```python\n(.*?)```", re.DOTALL)


class WrongRelease(Exception):
    """A release that must not be made, with the reason."""


def version() -> str:
    """The version of the sources."""
    return _found(r'__version__ = "([^"]+)"', "src/ottla/__init__.py")


def kafka_version() -> str:
    """The release of Kafka that is the specification."""
    return _found(r'VERSION: Final = "([^"]+)"', "kafka_tools/options.py")


def _found(pattern: str, file: str) -> str:
    match = re.search(pattern, (ROOT / file).read_text())
    assert match is not None, file
    return match.group(1)


def version_of(tag: str, *, changelog: str) -> str:
    """The version of a tag of git.

    Raises:
        WrongRelease: the tag is not that of the sources, or the changelog has no such version.
    """
    if tag != f"v{version()}":
        raise WrongRelease(f"the tag is {tag}, and the version of the sources is {version()}")
    if f"\n## [{version()}]" not in changelog:
        raise WrongRelease(f"CHANGELOG.md has no section [{version()}]")
    return version()


def image_tags(ottla: str, kafka: str) -> list[str]:
    """The tags of an image: Ottla's number, which never moves, then those that follow releases.

    All but `latest` are versions by PEP 440, which Python's testcontainers ask for.
    """
    major, minor, patch = kafka.split(".")
    confluent = f"{int(major) + _CONFLUENT_AHEAD}.{minor}"
    line = ottla.rpartition(".")[0]
    return [ottla, line, kafka, f"{major}.{minor}", f"{confluent}.{patch}", confluent, "latest"]


def build(directory: Path) -> list[Path]:
    """Build wheel and sdist of the last commit in a clone of it; return both."""
    with TemporaryDirectory() as clone:
        _run("git", "clone", "-q", "--depth", "1", f"file://{ROOT}", clone)
        time_s = _run("git", "log", "-1", "--format=%ct", at=Path(clone)).strip()
        _run("uv", "build", "-q", "--out-dir", str(directory), clone, SOURCE_DATE_EPOCH=time_s)
    return sorted(each for each in directory.iterdir() if each.suffix in (".whl", ".gz"))


def try_wheel(wheel: Path) -> None:
    """Run the command and README's first tests in an empty directory, by uv."""
    with TemporaryDirectory() as empty:
        at = Path(empty)
        told = _run("uv", "tool", "run", "-q", "--from", str(wheel), "ottla", "--version", at=at)
        if version() not in told:
            raise WrongRelease(f"`ottla --version` prints {told.strip()}")
        (block, *_) = _BLOCK.findall((ROOT / "README.md").read_text())
        (at / "test_first.py").write_text(block)
        with_wheel = ("--with", f"ottla[pytest] @ {wheel.as_uri()}")
        _run("uv", "run", "-q", "--no-project", *with_wheel, "pytest", "-q", "test_first.py", at=at)


def write_sbom(wheel: Path, path: Path) -> None:
    """Write the components of an environment with the wheel, in CycloneDX's JSON."""
    with TemporaryDirectory() as directory:
        python = f"{directory}/venv/bin/python"
        _run("uv", "venv", "-q", f"{directory}/venv")
        constraints = str(ROOT / "constraints.txt")
        _run("uv", "pip", "install", "-q", "--python", python, "-c", constraints, str(wheel))
        _run(
            *("uv", "tool", "run", "-q", "--from", _CYCLONEDX, "cyclonedx-py", "environment"),
            *(python, "--output-reproducible", "--of", "JSON", "-o", str(path)),
        )


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


def sign(path: Path, key: Path) -> Path:
    """Sign a file with a private key of Ed25519, by openssl; return the signature."""
    signature = path.with_name(f"{path.name}.sig")
    _run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", str(key), "-in", str(path),
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
    _run("openssl", "genpkey", "-algorithm", "ed25519", "-out", str(private))
    _run("openssl", "pkey", "-in", str(private), "-pubout", "-out", str(public))
    return private, public


def check(directory: Path) -> None:
    """Make the files of a release in a directory, and try them. Raises WrongRelease."""
    built = build(directory)
    if [each.suffix for each in built] != [".whl", ".gz"] or not all(
        f"-{version()}" in each.name for each in built
    ):
        raise WrongRelease(f"built {', '.join(each.name for each in built)}")
    _run(
        "uv", "tool", "run", "-q", "--from", _TWINE, "twine", "check", "--strict", *map(str, built)
    )
    _say(f"built {', '.join(each.name for each in built)}")
    wheel = built[0]
    try_wheel(wheel)
    _say("the command and README's first tests run in an empty directory")
    write_sbom(wheel, directory / SBOM)
    _say(f"{SBOM} lists the components")
    sums = write_sums(directory)
    with TemporaryDirectory() as keys:
        private, public = new_key(Path(keys))
        signature = sign(sums, private)
        if not is_signed(sums, signature, public):
            raise WrongRelease(f"the signature of {SUMS} cannot be verified")
        signature.unlink()
    _say(f"{SUMS} is signed with a key that is thrown away, and verified")


def _run(*command: str, at: Path | None = None, **variables: str) -> str:
    """Run a program; return its output. Raises WrongRelease if it fails."""
    environment = {**os.environ, **variables}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        environment.pop(name, None)
    done = subprocess.run(command, cwd=at, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise WrongRelease(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    named = commands.add_parser("names", help="print the version and the tags of the image")
    named.add_argument("tag", help="of git: v0.1.0")
    checked = commands.add_parser("check", help="make the files of a release, and try them")
    checked.add_argument("--keep", type=Path, metavar="DIR", help="leave the files there")
    given = parser.parse_args(words)
    try:
        if given.command == "names":
            found = version_of(given.tag, changelog=(ROOT / "CHANGELOG.md").read_text())
            _say(f"version={found}")
            _say(f"tags={' '.join(image_tags(found, kafka_version()))}")
        elif given.keep is not None:
            given.keep.mkdir(parents=True, exist_ok=True)
            check(given.keep.absolute())
        else:
            with TemporaryDirectory() as directory:
                check(Path(directory))
    except WrongRelease as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
