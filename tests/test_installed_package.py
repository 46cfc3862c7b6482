"""The wheel and the source distribution contain what they should; the wheel works when installed.

A project with packages named like Ottla's rooms uses its fixtures.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from .project_files import ROOMS, ROOT

CLASHING = ("broker", "storage", "protocol", "coordinator")
TESTS = """
import socket
import sys

import ottla
import pytest

from broker import NAME as broker
from coordinator import NAME as coordinator
from protocol import NAME as protocol
from storage import NAME as storage


def test_the_projects_own_packages_are_imported():
    names = [broker, storage, protocol, coordinator]
    assert names == ["broker", "storage", "protocol", "coordinator"]
    assert ottla.__file__.startswith(sys.prefix)


@pytest.mark.parametrize("number", range(4))
def test_brokers_answer(ottla, ottla_broker, number):
    for each in (ottla, ottla_broker):
        host, port = each.bootstrap_servers.split(":")
        socket.create_connection((host, int(port)), timeout=10).close()
    ottla_broker.restart()
"""

BESIDE_KAFKA_PYTHON = """
import kafka
from ottla.testing import Ottla
from ottla.testing.token_providers import of_kafka_python

with Ottla() as broker:
    broker.produce("orders", ["a broom"])
    producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    producer.send("orders", b"a pan").get(20)
    producer.close()
    consumer = kafka.KafkaConsumer(
        "orders", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    assert [next(consumer).value for _ in range(2)] == [b"a broom", b"a pan"]
    consumer.close()
assert of_kafka_python("alice").token()
print(kafka.__version__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel; in its directory, `source` has the sources that it was built from."""
    return built_wheel(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel; other packages come from this environment."""
    directory = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(directory / "venv")], check=True
    )
    (site,) = (directory / "venv" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(site)
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return directory / "venv" / "bin" / "python"


def built_wheel(directory: Path) -> Path:
    """The wheel, built from a copy of the sources, so that the checkout stays as it is."""
    copy = directory / "source"
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    for name in tracked.stdout.decode().splitlines():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(directory)]
    subprocess.run([*command, str(copy)], check=True)
    return next(directory.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_contains_the_package_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
    metadata = f"{wheel.name.split('-py3-')[0]}.dist-info"
    assert {name.split("/")[0] for name in names} == {"ottla", metadata}
    kinds = {Path(name).suffix for name in names if name.startswith("ottla/")}
    assert kinds == {
        *(".py", ".pyi", ".json", ".html", ".toml", ".typed", ".js", ".mjs", ".go", ".java", "")
    }
    assert [name for name in names if not Path(name).suffix and name.startswith("ottla/")] == [
        "ottla/protocol/schemas/NOTICE"
    ]
    about = {name.removeprefix(f"{metadata}/") for name in names if name.startswith(metadata)}
    assert about == {
        *("METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE")
    }
    assert wheel.stat().st_size < 2_500_000


@pytest.mark.slow
def test_the_source_distribution_contains_sources_and_documents(
    wheel: Path,
) -> None:
    """setuptools lists its files when it builds the wheel."""
    listed = (wheel.parent / "source" / "src" / "ottla.egg-info" / "SOURCES.txt").read_text()
    names = {name for name in listed.splitlines() if not name.startswith("src/ottla.egg-info/")}
    names -= {f"{folder}protocol/schemas/NOTICE" for folder in ("", "src/ottla/")}  # a licence
    inside = {name.removeprefix("src/ottla/") for name in names if name.startswith("src/ottla/")}
    assert {name.split("/")[0] for name in inside if "/" in name} == set(ROOMS)
    beside = {name for name in names if "/" in name and not name.startswith("picture/web/")}
    assert {name.split("/")[0] for name in beside} == {"src", "docs", "examples"}
    assert {name for name in names if "/" not in name} == {
        *("CHANGELOG.md", "LICENSE", "MANIFEST.in", "Makefile", "README.md"),
        *("constraints.txt", "pyproject.toml"),
    }
    kinds = {Path(name).suffix for name in {*inside, *beside} if "examples/" not in name}
    data = {".json", ".html", ".toml", ".typed", ".md", ".svg", ".png"}
    assert kinds == {".py", ".pyi", ".js", ".mjs", ".go", ".java"} | data


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_project_with_packages_of_the_same_names_uses_the_fixtures(
    python: Path, tmp_path: Path
) -> None:
    for name in CLASHING:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"NAME = {name!r}\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_project.py").write_text(TESTS)
    without = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [
            str(python),
            "-m",
            "pytest",
            "-q",
            "-n",
            "2",
            "-p",
            "no:cacheprovider",
            "tests",
            "--basetemp",
            "scratch",
        ],
        cwd=tmp_path,
        env=without,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", ["2.0.2", "2.2.21", "3.0.0"])
def test_the_wheel_works_beside_any_version_of_kafka_python(
    version: str, wheel: Path, tmp_path: Path
) -> None:
    """The packages come from the registry."""
    if version == "2.0.2" and sys.version_info >= (3, 12):
        pytest.skip("kafka-python 2.0.2 cannot be imported by Python 3.12")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    constraints = ["-c", str(_constraints_but_kafka_python(tmp_path))]
    subprocess.run([*install, *constraints, str(wheel), f"kafka-python=={version}"], check=True)
    done = subprocess.run(
        [str(python), "-c", BESIDE_KAFKA_PYTHON],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{version}\n"), done.stderr


def _constraints_but_kafka_python(directory: Path) -> Path:
    """The versions of all other packages, which were tried together."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    path = directory / "constraints.txt"
    path.write_text("\n".join(each for each in lines if not each.startswith("kafka-python")))
    return path
