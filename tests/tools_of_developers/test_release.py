"""A release: its names, its sums and signature, and what its workflow does before it publishes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from tools import release

from ..project_files import ROOT, files_in

WORKFLOWS = files_in(".github/workflows", "*.yml")
CHANGELOG = f"# Changelog\n\n## [{release.version()}] - 2026-12-01\n"


def test_a_tag_is_the_version_of_the_sources_and_of_the_changelog() -> None:
    tag = f"v{release.version()}"
    assert release.version_of(tag, changelog=CHANGELOG) == release.version()
    for wrong, changelog in ((f"{tag}.1", CHANGELOG), (tag[1:], CHANGELOG), (tag, "# Changelog")):
        with pytest.raises(release.WrongRelease):
            release.version_of(wrong, changelog=changelog)


def test_tags_of_the_image_are_versions_of_ottla_kafka_and_confluent() -> None:
    tags = release.image_tags("0.2.1", "4.4.0")
    assert tags == ["0.2.1", "0.2", "4.4.0", "4.4", "8.4.0", "8.4", "latest"]
    assert all(Version(tag) for tag in tags if tag != "latest")
    assert re.fullmatch(r"\d+\.\d+\.\d+", release.kafka_version())


def test_sums_are_signed_and_a_changed_file_is_noticed(tmp_path: Path) -> None:
    files, keys = tmp_path / "files", tmp_path / "keys"
    files.mkdir()
    keys.mkdir()
    (files / "ottla.whl").write_bytes(b"wheel")
    (files / ".gitignore").write_bytes(b"*")  # of uv; it is not published
    sums = release.write_sums(files)
    digest = "ba59926159d2aa256eb8739b8da7e2b574b960e1202c6d624cbe981cef996c91"
    assert sums.read_text() == f"{digest}  ottla.whl\n"
    private, public = release.new_key(keys)
    signature = release.sign(sums, private)
    assert release.is_signed(sums, signature, public)
    sums.write_text(sums.read_text().replace("ottla", "other"))
    assert not release.is_signed(sums, signature, public)


def jobs(name: str) -> dict[str, Any]:  # Any: values of YAML
    content = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())
    found: dict[str, Any] = content["jobs"]
    return found


def before(job: str, of: dict[str, Any]) -> set[str]:
    """All jobs that have succeeded before one begins."""
    needed = of[job].get("needs", [])
    named = {needed} if isinstance(needed, str) else set(needed)
    return named.union(*(before(each, of) for each in named))


@pytest.mark.parametrize("job", ["pypi", "image", "page"])
def test_nothing_is_published_before_the_tests(job: str) -> None:
    assert {"names", "tests", "image-tests", "packages"} <= before(job, jobs("release"))


def test_images_are_tested_on_both_architectures() -> None:
    job = jobs("release")["image-tests"]
    assert job["strategy"]["matrix"]["machine"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    assert job["steps"][-1]["run"] == "make test-image"


def test_only_jobs_that_publish_may_write() -> None:
    writing = {
        name
        for name, job in jobs("release").items()
        if any(level == "write" for level in job.get("permissions", {}).values())
    }
    assert writing == {"pypi", "image", "page"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_a_commit(path: Path) -> None:
    used = re.findall(r"uses: (\S+)(.*)", path.read_text())
    wrong = [
        name
        for name, comment in used
        if not name.startswith("./")
        and not (re.search(r"@[0-9a-f]{40}$", name) and re.fullmatch(r" # v\d+\.\d+\.\d+", comment))
    ]
    assert used
    assert wrong == []
