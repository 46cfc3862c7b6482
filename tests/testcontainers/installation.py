"""Installs the modules of each language from its registry, into .cache/testcontainers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
CACHE = Path(__file__).parents[2] / ".cache" / "testcontainers"
PYTHON_VERSION = "4.15.0"
NODE_VERSION = "11.8.1"
GO_VERSION = "v0.40.0"
INSTALL_S = 1200.0


class NotInstalled(Exception):
    """A tool is missing, or a registry has no answer; the text says what."""


def _run(*words: str | Path, cwd: Path | None = None) -> None:
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=INSTALL_S,
            check=False,
        )
    except FileNotFoundError:
        raise NotInstalled(f"{words[0]} is not installed") from None
    if done.returncode:
        raise NotInstalled(f"{' '.join(map(str, words))}:\n{done.stdout[-3000:]}")


def python() -> list[str]:
    """The command of Python's module, in an environment of its own."""
    home = CACHE / f"python-{PYTHON_VERSION}"
    executable = home / "bin/python"
    if not (home / "installed").exists():
        _run(sys.executable, "-m", "venv", "--clear", home)
        _run(
            executable,
            "-m",
            "pip",
            "install",
            "-q",
            f"testcontainers=={PYTHON_VERSION}",
            "packaging",
        )
        (home / "installed").touch()
    return [str(executable), str(PROGRAMS / "start.py")]


def node() -> list[str]:
    """The command of Node's module."""
    home = CACHE / f"node-{NODE_VERSION}"
    if not (home / "installed").exists():
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text("{}")
        module = f"@testcontainers/kafka@{NODE_VERSION}"
        _run(
            "npm",
            "install",
            "--silent",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            module,
            cwd=home,
        )
        (home / "installed").touch()
    shutil.copy(PROGRAMS / "node/start.js", home / "start.js")
    return ["node", str(home / "start.js")]


def go() -> list[str]:
    """The program of Go's module."""
    home = CACHE / f"go-{GO_VERSION}"
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(PROGRAMS / "go/main.go", home / "main.go")
    if not (home / "go.mod").exists():
        _run("go", "mod", "init", "start", cwd=home)
        _run("go", "get", f"github.com/testcontainers/testcontainers-go@{GO_VERSION}", cwd=home)
        module = f"github.com/testcontainers/testcontainers-go/modules/kafka@{GO_VERSION}"
        _run("go", "get", module, cwd=home)
        _run("go", "mod", "tidy", cwd=home)
    _run("go", "build", "-o", "start", ".", cwd=home)
    return [str(home / "start")]


def rust() -> list[str]:
    """The program of Rust's module."""
    home = CACHE / "rust"
    shutil.copytree(PROGRAMS / "rust", home, dirs_exist_ok=True)
    _run("cargo", "build", "--quiet", cwd=home)
    return [str(home / "target/debug/start")]


def java() -> list[str]:
    """The command of Java's module."""
    home = CACHE / "java"
    jars = home / "jars"
    if not (home / "installed").exists():
        home.mkdir(parents=True, exist_ok=True)
        pom = shutil.copy(PROGRAMS / "java/pom.xml", home / "pom.xml")
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        _run("mvn", "-B", "-q", "-f", pom, *copy)
        (home / "installed").touch()
    _run("javac", "-cp", f"{jars}/*", "-d", home, PROGRAMS / "java/Start.java")
    return ["java", "-cp", f"{jars}/*{os.pathsep}{home}", "Start"]


INSTALLED: dict[str, Callable[[], list[str]]] = {
    "Python": python,
    "Node": node,
    "Go": go,
    "Java": java,
    "Rust": rust,
}
