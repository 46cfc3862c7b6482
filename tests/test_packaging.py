"""The installed package equals the repository, at versions that were tried."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import ottla

from .project_files import ROOMS, ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]
PACKAGE = ROOT / "src" / "ottla"


SOURCES_OF_PAGES = ROOT / "picture" / "web"
"""Not installed: `make page` builds the pages of them, which are."""


def packages_in_the_repository() -> dict[str, Path]:
    """Every folder below a room, under its installed name."""
    found = {"ottla": PACKAGE}
    for room in sorted(ROOMS):
        for path in [ROOT / room, *(ROOT / room).rglob("*")]:
            if SOURCES_OF_PAGES in (path, *path.parents):
                continue
            if path.is_dir() and not {"__pycache__", ".mypy_cache"} & set(path.parts):
                found[".".join(["ottla", *path.relative_to(ROOT).parts])] = path
    return found


PACKAGES = packages_in_the_repository()


def test_the_package_has_a_link_to_each_room() -> None:
    links = {path.name: path.resolve() for path in PACKAGE.iterdir() if path.is_symlink()}
    assert links == {room: ROOT / room for room in ROOMS}


def test_every_folder_of_a_room_is_a_package() -> None:
    assert not [name for name, path in PACKAGES.items() if not (path / "__init__.py").exists()]


def test_every_room_is_in_the_source_of_the_image() -> None:
    kept = (ROOT / ".dockerignore").read_text().split()
    assert {"!src", *(f"!{room}" for room in ROOMS)} <= set(kept)


def test_every_data_file_is_installed() -> None:
    globs: dict[str, list[str]] = SETUPTOOLS["package-data"]
    assert globs.keys() <= PACKAGES.keys()
    left_out = [
        str(path.relative_to(ROOT))
        for package, folder in PACKAGES.items()
        for path in folder.iterdir()
        if path.is_file()
        and path.suffix not in {".py", ".pyc"}
        and not any(path.match(glob) for glob in globs.get(package, []))
    ]
    assert not left_out


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_docstring(package: str) -> None:
    assert import_module(package).__doc__


def names_of(requirements: list[str]) -> set[str]:
    """The packages that a list of requirements names, normalized."""
    names = (re.match(r"[A-Za-z0-9_.-]+", requirement) for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", name[0]).lower() for name in names if name}


def test_every_requirement_is_pinned_to_a_version_that_was_tried() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.]+", pin)] == []
    project = PROJECT["project"]
    wanted = names_of(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        wanted |= names_of(extra)
    assert wanted - names_of(pins) == {"ottla"}


def test_the_command_and_the_fixtures_are_where_the_metadata_says() -> None:
    module, function = PROJECT["project"]["scripts"]["ottla"].split(":")
    assert callable(getattr(import_module(module), function))
    assert import_module(PROJECT["project"]["entry-points"]["pytest11"]["ottla"])


def test_every_python_of_the_classifiers_is_tested_by_the_workflow() -> None:
    classifiers = " ".join(PROJECT["project"]["classifiers"])
    (matrix,) = re.findall(
        r"^ +python: \[(.*)\]", (ROOT / ".github/workflows/tests.yml").read_text(), re.MULTILINE
    )
    assert re.findall(r"Python :: (3\.\d+)", classifiers) == re.findall(r"3\.\d+", matrix)


def test_the_changelog_lists_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert f"## [{ottla.__version__}]" in changelog or "## [Unreleased]" in changelog


def test_the_settings_of_the_compose_file_are_a_brokers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ottla.__main__ import main

    compose = (ROOT / "docker-compose.yml").read_text()
    variables = re.findall(r"^ +(KAFKA_\w+): (.+)$", compose, re.MULTILINE)
    assert variables
    for name, value in variables:
        monkeypatch.setenv(name, value)
    assert main(["config", "--environment", "listeners", "advertised.listeners"]) == 0
    assert "INTERNAL://ottla:29092" in capsys.readouterr().out
