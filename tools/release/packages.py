"""Wheel and sdist of a release: they are built from a clone, and tried as a user would."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from .numbers import ROOT, WrongRelease, version
from .programs import environment, run, say
from .sums import SUMS, is_signed, new_key, sign, verify, write_sums

SBOM: Final = "sbom.cdx.json"
# Programs that are run by uv, at these versions.
_CYCLONEDX: Final = "cyclonedx-bom==7.5.0"
_TWINE: Final = "twine==6.2.0"
_BLOCK: Final = re.compile(r"```python\n(.*?)```", re.DOTALL)


def build(directory: Path) -> list[Path]:
    """Build wheel and sdist of the last commit in a clone of it; return both.

    The wheel is built from the sdist, so that both are complete.

    Raises:
        WrongRelease: another wheel, from the sources, differs: who builds again gets other bytes.
    """
    with TemporaryDirectory() as clone, TemporaryDirectory() as again:
        run("git", "clone", "-q", "--depth", "1", f"file://{ROOT}", clone)
        time_s = run("git", "log", "-1", "--format=%ct", at=Path(clone)).strip()
        run("uv", "build", "-q", "-o", str(directory), clone, SOURCE_DATE_EPOCH=time_s)
        run("uv", "build", "-q", "--wheel", "-o", again, clone, SOURCE_DATE_EPOCH=time_s)
        for wheel in Path(again).glob("*.whl"):
            if wheel.read_bytes() != (directory / wheel.name).read_bytes():
                raise WrongRelease(f"{wheel.name} from the sources differs from that of the sdist")
    return sorted(each for each in directory.iterdir() if each.suffix in (".whl", ".gz"))


def try_wheel(wheel: Path) -> None:
    """Run the command, a broker, and README's first tests in an empty directory, by uv."""
    with TemporaryDirectory() as empty:
        at = Path(empty)
        _try_command(("uv", "tool", "run", "-q", "--from", str(wheel), "ottla"), version(), at)
        (block, *_) = _BLOCK.findall((ROOT / "README.md").read_text())
        (at / "test_first.py").write_text(block)
        with_wheel = ("--with", f"ottla[pytest] @ {wheel.as_uri()}")
        run("uv", "run", "-q", "--no-project", *with_wheel, "pytest", "-q", "test_first.py", at=at)


def try_published(number: str) -> None:
    """Run the command and a broker of the release that PyPI has, by uv, in an empty directory."""
    with TemporaryDirectory() as empty:
        command = ("uv", "tool", "run", "-q", "--no-cache", "--from", f"ottla=={number}", "ottla")
        _try_command(command, number, Path(empty))
    say(f"`uvx ottla` runs {number}")


def _try_command(command: Sequence[str], number: str, at: Path) -> None:
    told = run(*command, "--version", at=at)
    if number not in told.split():
        raise WrongRelease(f"`ottla --version` prints {told.strip()} instead of {number}")
    with served(command, at) as servers:
        run(*command, "produce", "-b", servers, "orders", "a broom", at=at)
        read = run(*command, "consume", "-b", servers, "orders", at=at)
    if "a broom" not in read:
        raise WrongRelease(f"`ottla consume` prints {read.strip()}")


@contextmanager
def served(command: Sequence[str], at: Path) -> Iterator[str]:
    """A broker by the command `ottla serve`; its address. It is stopped at the end.

    Raises:
        WrongRelease: it does not start, or its end by SIGTERM is no success.
    """
    words = [*command, "serve", "--listen", "127.0.0.1:0", "--json"]
    with (at / "log").open("w") as log, subprocess.Popen(
        words, cwd=at, env=environment(), stdout=subprocess.PIPE, stderr=log, text=True
    ) as broker:  # fmt: skip
        assert broker.stdout is not None
        try:
            ready = broker.stdout.readline()
            if not ready:
                raise WrongRelease(f"`ottla serve` ends:\n{(at / 'log').read_text()}")
            yield json.loads(ready)["bootstrap_servers"]
        finally:
            broker.terminate()
            broker.communicate()
    if broker.returncode != 0:
        raise WrongRelease(f"`ottla serve` ends with status {broker.returncode}")


def write_sbom(wheel: Path, path: Path) -> None:
    """Write the components of an environment with the wheel, in CycloneDX's JSON."""
    with TemporaryDirectory() as directory:
        python = f"{directory}/venv/bin/python"
        run("uv", "venv", "-q", f"{directory}/venv")
        constraints = str(ROOT / "constraints.txt")
        run("uv", "pip", "install", "-q", "--python", python, "-c", constraints, str(wheel))
        run(
            *("uv", "tool", "run", "-q", "--from", _CYCLONEDX, "cyclonedx-py", "environment"),
            *(python, "--output-reproducible", "--of", "JSON", "-o", str(path)),
        )


def check(directory: Path) -> None:
    """Make the files of a release in a directory, and try them. Raises WrongRelease."""
    built = build(directory)
    if [each.suffix for each in built] != [".whl", ".gz"] or not all(
        f"-{version()}" in each.name for each in built
    ):
        raise WrongRelease(f"built {', '.join(each.name for each in built)}")
    twine = ("uv", "tool", "run", "-q", "--from", _TWINE, "twine")
    run(*twine, "check", "--strict", *map(str, built))
    say(f"built {', '.join(each.name for each in built)}")
    wheel = built[0]
    try_wheel(wheel)
    say("the command, a broker and README's first tests run in an empty directory")
    write_sbom(wheel, directory / SBOM)
    say(f"{SBOM} lists the components")
    sums = write_sums(directory)
    verify(directory)
    say(f"{SUMS} is verified as the documents say")
    with TemporaryDirectory() as keys:
        private, public = new_key(Path(keys))
        signature = sign(sums, private)
        if not is_signed(sums, signature, public):
            raise WrongRelease(f"the signature of {SUMS} cannot be verified")
        signature.unlink()
    say(f"{SUMS} is signed with a key that is thrown away, and that is verified")
