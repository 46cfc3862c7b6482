"""The steps of action.yml start a broker for the following steps, or report why they cannot."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from ..held_ports import HeldPorts

ROOT = Path(__file__).parents[2]
ACTION = (ROOT / "action.yml").read_text()
START = ROOT / ".github" / "start-broker"


class Runner:
    """The directory and the files of a GitHub runner."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        program = directory / "ottla"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m ottla "$@"\n')
        program.chmod(0o755)

    def start(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the step that starts the broker."""
        environment = {
            "PATH": f"{self.directory}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.directory),
            "GITHUB_OUTPUT": str(self.directory / "output"),
            "GITHUB_ENV": str(self.directory / "env"),
            "OTTLA_LISTEN": "127.0.0.1:0",
        }
        return subprocess.run(
            ["bash", str(START)],
            env=environment | inputs,
            capture_output=True,
            text=True,
            timeout=70,
            check=False,
        )

    def values(self, name: str) -> dict[str, str]:
        """The NAME=VALUE lines of a file of the runner."""
        file = self.directory / name
        text = file.read_text() if file.exists() else ""
        return dict(line.split("=", 1) for line in text.splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    made = Runner(tmp_path)
    yield made
    with suppress(KeyError, ProcessLookupError):
        os.kill(int(made.values("output")["pid"]), signal.SIGTERM)


def test_the_following_steps_get_the_address_of_a_broker(runner: Runner) -> None:
    done = runner.start(
        OTTLA_NODES="2", OTTLA_SETTINGS="num.partitions=3\n\n  log.retention.ms=-1\n"
    )
    assert done.returncode == 0, done.stderr
    servers = runner.values("output")["bootstrap-servers"]
    names = ("OTTLA_BOOTSTRAP", "KAFKA_BOOTSTRAP_SERVERS")
    assert runner.values("env") == dict.fromkeys(names, servers)
    assert len(servers.split(",")) == 2
    for each in servers.split(","):
        host, port = each.split(":")
        socket.create_connection((host, int(port)), timeout=10).close()


def test_a_wrong_setting_is_the_error_of_the_step(runner: Runner) -> None:
    done = runner.start(OTTLA_SETTINGS="num.partitons=3")
    assert done.returncode == 1
    assert re.search(r"^::error title=Ottla::ottla: .*num\.partitons", done.stdout, re.MULTILINE)
    assert runner.values("env") == {}


def test_the_documented_example_gives_inputs_that_exist() -> None:
    (example,) = re.findall(
        r"^```yaml\n(- uses: .*?)^```$", (ROOT / "docs/start/in-ci.md").read_text(), re.M | re.S
    )
    given = re.findall(r"^    (\w+):", example, re.MULTILINE)
    assert given
    assert set(given) <= set(re.findall(r"^  ([\w-]+):$", ACTION, re.MULTILINE))


def test_each_step_is_a_script_that_reads_the_inputs() -> None:
    scripts = re.findall(r'run: bash "\$\{\{ github\.action_path \}\}/(.*)"', ACTION)
    names = ("cache-key", "install-ottla", "start-broker")
    assert [ROOT / each for each in scripts] == [START.with_name(name) for name in names]
    assert all(os.access(ROOT / each, os.X_OK) for each in scripts)
    texts = "".join((ROOT / each).read_text() for each in scripts)
    inputs = re.findall(r"^        (OTTLA_\w+): \$\{\{ inputs\.(\w+) \}\}$", ACTION, re.MULTILINE)
    assert {name for _, name in inputs} == {"listen", "nodes", "settings", "python", "extras"}
    assert [variable for variable, _ in inputs if f"{{{variable}:" not in texts] == []


def test_the_action_installs_the_versions_of_the_constraints_and_its_extras(tmp_path: Path) -> None:
    """The Python of this test only writes down what it is asked."""
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\nif [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi\n'
        f'echo "$@" >> {tmp_path}/asked\n'
    )
    python.chmod(0o755)
    ottla = tmp_path / "ottla/venv/bin/ottla"
    ottla.parent.mkdir(parents=True)
    ottla.write_text("#!/bin/sh\n")
    ottla.chmod(0o755)
    environment = {
        "PATH": os.environ["PATH"],
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_PATH": str(tmp_path / "path"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "OTTLA_PYTHON": str(python),
        "OTTLA_EXTRAS": "pytest,tls",
    }
    script = START.with_name("install-ottla")
    subprocess.run(["bash", str(script)], env=environment, check=True, timeout=60)
    asked = (tmp_path / "asked").read_text()
    assert f"--constraint {ROOT}/constraints.txt {ROOT}[pytest,tls]" in asked
    assert (tmp_path / "path").read_text() == f"{tmp_path}/ottla/bin\n"
    python_of_the_next_steps = f"{tmp_path}/ottla/venv/bin/python"
    assert (tmp_path / "output").read_text() == f"python={python_of_the_next_steps}\n"


def cache_key(action: Path, extras: str) -> str:
    """The key of the runner's cache, by the script of the action in a directory."""
    output = action / "output"
    output.write_text("")
    environment = {
        "PATH": os.environ["PATH"], "OTTLA_PYTHON": sys.executable, "OTTLA_EXTRAS": extras,
        "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "GITHUB_OUTPUT": str(output),
    }  # fmt: skip
    script = str(action / ".github/cache-key")
    subprocess.run(["bash", script], env=environment, check=True, timeout=60)
    (name, _, key) = output.read_text().strip().partition("=")
    assert name == "key"
    return key


def test_the_cache_is_for_these_versions_and_extras(tmp_path: Path) -> None:
    """GitHub refuses a key with a comma, and hashFiles sees no file of an action."""
    assert "hashFiles" not in ACTION.replace("# hashFiles", "")
    (tmp_path / ".github").mkdir()
    for name in (".github/cache-key", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    keys = [cache_key(tmp_path, extras) for extras in ("", "tls,oauth", "tls,oauth", "tls")]
    assert keys[1] == keys[2]
    with (tmp_path / "constraints.txt").open("a") as constraints:
        constraints.write("another==1.0\n")
    keys.append(cache_key(tmp_path, "tls"))
    assert len(set(keys)) == 4
    assert [key for key in keys if "," in key] == []


def test_gitlabs_job_without_an_image_starts_a_broker(runner: Runner) -> None:
    """Its packages are there, and its tests are one record."""
    job = yaml.safe_load((ROOT / "examples/gitlab-ci.yml").read_text())["with-the-command"]
    for name, does in (("pip", "exit 0"), ("pytest", 'ottla produce orders "a broom"')):
        (runner.directory / name).write_text(f"#!/bin/sh\n{does}\n")
        (runner.directory / name).chmod(0o755)
    assert set(job["variables"]) == {"OTTLA_BOOTSTRAP"}
    held = HeldPorts(1)
    environment = {
        "PATH": f"{runner.directory}:{os.environ['PATH']}",
        "OTTLA_BOOTSTRAP": f"127.0.0.1:{held.ports[0]}",
    }
    script = ["set -e", *job["script"], "kill $!", "wait $!"]
    held.before_start()
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=runner.directory, env=environment,
        capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    held.close()
    assert done.returncode == 0, done.stderr + (runner.directory / "broker.log").read_text()
