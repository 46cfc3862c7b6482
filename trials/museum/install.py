"""Installs versions of clients into a cache, and makes the commands that run programs with them.

The cache is `$XDG_CACHE_HOME/ottla/museum`, by default `~/.cache/ottla/museum`. Packages come from
the registries for which pip, npm, go and mvn are configured.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

PROGRAMS: Final = Path(__file__).parent / "programs"
_TIMEOUT_S: Final = 600
_JVM: Final = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class NotInstalled(Exception):
    """A tool is missing, or a package cannot be had; the text says which."""


class Client(NamedTuple):
    """A client.

    Attributes:
        language: what its programs are written in.
        package: its name in the registry.
        also: what pip installs with it, where its own versions are too wide.
    """

    language: str
    package: str
    also: tuple[str, ...] = ()


CLIENTS: Final[Mapping[str, Client]] = {
    "aiokafka": Client("python", "aiokafka", ("kafka-python==2.0.2",)),  # before 0.9 it needs that
    "kafka-python": Client("python", "kafka-python"),
    "confluent-kafka": Client("python", "confluent-kafka"),
    "kafkajs": Client("node", "kafkajs"),
    "platformatic-kafka": Client("node", "@platformatic/kafka"),
    "kafka-go": Client("go", "github.com/segmentio/kafka-go"),
    "franz-go": Client("go", "github.com/twmb/franz-go"),
    "sarama": Client("go", "github.com/IBM/sarama"),
    "java": Client("java", "org.apache.kafka:kafka-clients"),
}
_TOOLS: Final = {"python": (), "node": ("node", "npm"), "go": ("go",), "java": ("javac", "mvn")}


class Launch(NamedTuple):
    """How a program is started: its command, and variables of its environment."""

    command: Sequence[str]
    environment: Mapping[str, str]


def cache_directory() -> Path:
    """The directory of installed clients."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ottla" / "museum"


def clear_cache() -> list[str]:
    """Remove the installed clients; return their names. Raises OSError.

    Only directories named CLIENT-VERSION are touched, and no links.
    """
    directory = cache_directory()
    if not directory.is_dir():
        return []
    removed = []
    for each in sorted(directory.iterdir()):
        is_ours = any(each.name.startswith(f"{client}-") for client in CLIENTS)
        if is_ours and each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
            removed.append(each.name)
    return removed


def missing_tools(client: str) -> list[str]:
    """The tools that a client needs and that are not there."""
    return [each for each in _TOOLS[CLIENTS[client].language] if shutil.which(each) is None]


def launch(client: str, version: str, program: str) -> Launch:
    """Install a client, unless the cache has it; return how a program with it is started.

    Raises NotInstalled.
    """
    missing = missing_tools(client)
    if missing:
        raise NotInstalled(f"{client} needs {' and '.join(missing)}: not installed")
    language, package, also = CLIENTS[client]
    directory = cache_directory() / f"{client}-{version}"
    with _locked(directory):
        if language == "python":
            return _python(directory, [f"{package}=={version}", *also], PROGRAMS / program)
        return _LAUNCHES[language](directory, package, version, PROGRAMS / program)


def _python(directory: Path, packages: Sequence[str], program: Path) -> Launch:
    # Another Python needs other wheels.
    directory = directory.with_name(
        f"{directory.name}-py{sys.version_info[0]}{sys.version_info[1]}"
    )
    python = directory / "bin" / "python"
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        # A pip of one's own takes longer than the client.
        has_pip = find_spec("pip") is not None
        options = ["--without-pip"] if has_pip else []
        _done([sys.executable, "-m", "venv", *options, str(directory)])
        pip = ["-m", "pip", "--python", str(python)] if has_pip else ["-m", "pip"]
        command = [sys.executable if has_pip else str(python), *pip, "install", "-q"]
        _done([*command, *packages])
        (directory / "complete").touch()
    # Without PYTHONPATH, which may name other versions.
    return Launch([str(python), "-I", "-u", str(program)], {})


def _node(directory: Path, package: str, version: str, program: Path) -> Launch:
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        quiet = ["--no-audit", "--no-fund", "--silent"]
        _done(["npm", "install", *quiet, "--prefix", str(directory), f"{package}@{version}"])
        (directory / "complete").touch()
    variables = {
        "NODE_PATH": str(directory / "node_modules"),
        "KAFKAJS_NO_PARTITIONER_WARNING": "1",
    }
    return Launch(["node", str(program)], variables)


def _go(directory: Path, package: str, version: str, program: Path) -> Launch:
    source = program.read_bytes()
    build = directory / f"{program.stem}-{hashlib.sha256(source).hexdigest()[:12]}"
    built = build / "program"
    if not built.exists():
        shutil.rmtree(build, ignore_errors=True)
        build.mkdir(parents=True)
        (build / "main.go").write_bytes(source)
        (build / "go.mod").write_text(f"module museum\n\ngo 1.21\n\nrequire {package} v{version}\n")
        _done(["go", "mod", "tidy"], build)
        _done(["go", "build", "-o", "program", "."], build)
    return Launch([str(built)], {})


def _java(directory: Path, package: str, version: str, program: Path) -> Launch:
    group, artifact = package.split(":")
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        pom = directory / "pom.xml"
        pom.write_text(_POM.format(group=group, artifact=artifact, version=version))
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={directory / 'libs'}"]
        _done(["mvn", "-B", "-q", "-f", str(pom), *copy])
        (directory / "complete").touch()
    source = hashlib.sha256(program.read_bytes()).hexdigest()[:12]
    classes = directory / f"{program.stem}-{source}"
    jars = str(directory / "libs" / "*")
    if not classes.exists():
        _done(["javac", "-d", f"{classes}.new", "-cp", jars, str(program)])
        Path(f"{classes}.new").rename(classes)
    path = os.pathsep.join((str(classes), jars))
    return Launch(["java", *_JVM, "-cp", path, program.stem], {})


_LAUNCHES: Final = {"node": _node, "go": _go, "java": _java}
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>museum</groupId><artifactId>museum</artifactId><version>1</version>
<dependencies>
<dependency>
<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
</dependency>
</dependencies>
</project>
"""


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Two commands do not install the same client at once."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_name(f".{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _done(command: Sequence[str], directory: Path | None = None) -> None:
    """Run a command to its end. Raises NotInstalled."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as failed:
        raise NotInstalled(f"{command[0]}: {failed.strerror or failed}") from None
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{command[0]} took more than {_TIMEOUT_S} s") from None
    if done.returncode:
        end = done.stdout.decode(errors="replace").strip().splitlines()[-5:]
        raise NotInstalled(f"{' '.join(command[:4])} failed: {' | '.join(end)}")
