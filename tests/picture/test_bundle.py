"""The built pages are those of their sources, small, and allowed to ask for nothing."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from ..project_files import ROOT

WEB = ROOT / "picture" / "web"
PAGES = {"trace": ROOT / "picture" / "page.html", "live": ROOT / "browse" / "page.html"}
BUILT = [name for name in PAGES if (WEB / name / "main.tsx").exists()]


def sources(folder: str) -> list[Path]:
    """The files that a page is made of, as `sources` of build.mjs lists them."""
    beside = [path for path in WEB.iterdir() if path.is_file() and path.suffix != ".md"]
    inside = [path for each in ("shared", folder) for path in (WEB / each).rglob("*")]
    found = [*beside, *(path for path in inside if path.is_file())]
    return sorted(found, key=lambda path: path.relative_to(WEB).as_posix())


@pytest.mark.parametrize("folder", BUILT)
def test_a_page_is_built_of_its_sources(folder: str) -> None:
    whole = hashlib.sha256()
    for path in sources(folder):
        name = path.relative_to(WEB).as_posix()
        whole.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    built = re.search('name="sources" content="(.*?)"', PAGES[folder].read_text())
    assert built, "no hash"
    assert built[1] == whole.hexdigest(), "the sources have changed: make page"


@pytest.mark.parametrize("folder", BUILT)
def test_a_page_is_small_and_its_program_is_the_only_one_that_may_run(folder: str) -> None:
    text = PAGES[folder].read_text()
    assert len(text) < 400_000
    policy = re.search('Content-Security-Policy" content="(.*?)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)


def test_the_packages_are_pinned_by_their_hashes() -> None:
    import json

    lock = json.loads((WEB / "package-lock.json").read_text())
    wanted = json.loads((WEB / "package.json").read_text())
    versions = {**wanted["dependencies"], **wanted["devDependencies"]}
    assert all(re.fullmatch(r"[\d.]+", each) for each in versions.values())
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert not [name for name, each in packages.items() if not each.get("integrity")]
