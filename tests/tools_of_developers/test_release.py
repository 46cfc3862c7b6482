"""A release: its version, the tags that move to it, its sums and its signature."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from tools.release import numbers, sources, sums
from tools.release.__main__ import outputs_of_names
from tools.release.numbers import Release, WrongRelease

VERSION = numbers.version()
NOTES = "### Changed\n- A broom."
CHANGELOG = (
    f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-12-01\n\n{NOTES}\n"
    "\n## [0.0.9]\n- A pan."
)


def test_a_tag_is_the_version_of_the_sources_and_of_the_changelog() -> None:
    tag = f"v{VERSION}"
    assert numbers.version_of(tag, changelog=CHANGELOG) == VERSION
    for wrong, changelog in ((f"{tag}.1", CHANGELOG), (tag[1:], CHANGELOG), (tag, "# Changelog")):
        with pytest.raises(WrongRelease):
            numbers.version_of(wrong, changelog=changelog)


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    assert numbers.notes_of(VERSION, changelog=CHANGELOG) == NOTES
    assert numbers.notes_of("0.0.9", changelog=CHANGELOG) == "- A pan."
    with pytest.raises(WrongRelease, match=r"no section \[9.9.9\]"):
        numbers.notes_of("9.9.9", changelog=CHANGELOG)
    with pytest.raises(WrongRelease):
        numbers.notes_of("Unreleased", changelog=CHANGELOG)  # empty


def test_versions_are_ordered_as_by_python() -> None:
    ordered = ["0.0.9", "0.1.0a2", "0.1.0b1", "0.1.0rc1", "0.1.0rc10", "0.1.0", "0.1.10", "0.10.0"]
    assert sorted(reversed(ordered), key=numbers.rank) == ordered
    assert sorted(reversed(ordered), key=Version) == ordered
    for wrong in ("0.1", "v0.1.0", "0.1.0-1", "latest", "0.1.0.dev1", ""):
        with pytest.raises(WrongRelease, match="is no version"):
            numbers.rank(wrong)


K44, K441, K45 = "4.4.0", "4.4.1", "4.5.0"
ALL_OF_44 = ["4.4.0", "4.4", "8.4.0", "8.4"]


@pytest.mark.parametrize(
    ("made", "known", "tags"),
    [
        pytest.param(
            ("0.1.0", K44), [], ["0.1", *ALL_OF_44, "latest"], id="the first one gets all tags"
        ),
        pytest.param(
            ("0.2.1", K44),
            [("0.1.0", K44), ("0.2.0", K44)],
            ["0.2", *ALL_OF_44, "latest"],
            id="the newest one gets all tags",
        ),
        pytest.param(
            ("0.1.3", K44),
            [("0.1.2", K44), ("0.2.0", K45)],
            ["0.1", *ALL_OF_44],
            id="an older line has an older Kafka, and latest stays",
        ),
        pytest.param(
            ("0.1.3", K44),
            [("0.1.2", K44), ("0.2.0", K44)],
            ["0.1"],
            id="an older line has the same Kafka as a newer one: only its own tag moves",
        ),
        pytest.param(
            ("0.1.3", K44),
            [("0.1.2", K44), ("0.2.0", K441)],
            ["0.1", "4.4.0", "8.4.0"],
            id="a newer one has a newer Kafka of the same line",
        ),
        pytest.param(
            ("0.2.1", K44),
            [("0.2.0", K441)],
            ["0.2", "4.4.0", "8.4.0", "latest"],
            id="a newer one goes back to an older Kafka",
        ),
        pytest.param(
            ("0.1.9", K44), [("0.1.10", K44)], [], id="numbers are compared, not their letters"
        ),
        pytest.param(
            ("0.2.0rc1", K45), [("0.1.0", K44)], [], id="a version before a release moves nothing"
        ),
        pytest.param(
            ("0.1.1", K44),
            [("0.1.0", K44), ("0.2.0rc1", K45)],
            ["0.1", *ALL_OF_44, "latest"],
            id="a version before a release holds nothing back",
        ),
        pytest.param(
            ("0.2.0", K44),
            [("0.2.0rc1", K44), ("0.2.0", K44)],
            ["0.2", *ALL_OF_44, "latest"],
            id="its own tag exists when the workflow runs",
        ),
    ],
)
def test_tags_move_forward_alone(
    made: tuple[str, str], known: list[tuple[str, str]], tags: list[str]
) -> None:
    found = numbers.image_tags(Release(*made), [Release(*each) for each in known])
    assert found == [made[0], *tags]
    assert all(Version(tag) for tag in found if tag != "latest")


def test_a_tag_has_one_meaning() -> None:
    for version in ("4.4.0", "4.4.7", "8.4.1"):
        with pytest.raises(WrongRelease, match="two meanings"):
            numbers.image_tags(Release(version, K44), [])


def test_releases_are_read_from_the_tags_of_git(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "tag.gpgSign=false"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    path = tmp_path / numbers.OF_KAFKA
    path.parent.mkdir()
    for number, kafka in (("0.9.0", "4.3.0"), ("0.10.0", K44)):
        path.write_text(f'VERSION: Final = "{kafka}"\n')
        git("add", ".")
        git("commit", "-q", "--no-gpg-sign", "-m", number)
        git("tag", f"v{number}")
    git("tag", "other")
    assert numbers.released(tmp_path) == [("0.9.0", "4.3.0"), ("0.10.0", K44)]
    git("tag", "version-2")
    with pytest.raises(WrongRelease, match="ersion-2 is no version"):
        numbers.released(tmp_path)


def test_a_step_has_its_outputs_for_the_next_ones() -> None:
    text = outputs_of_names(
        f"v{VERSION}", image="ghcr.io/Owner/Ottla", changelog=CHANGELOG, known=[]
    )
    single = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    blocks = {
        name: block.splitlines()
        for name, block in re.findall(r"^(\w+)<<END-OF-THE-VALUE\n(.*?)\nEND-OF", text, re.M | re.S)
    }
    assert single["version"] == VERSION
    assert (single["latest"], single["prerelease"]) == ("true", "false")
    assert blocks["references"] == [f"ghcr.io/owner/ottla:{tag}" for tag in single["tags"].split()]
    assert blocks["notes"] == NOTES.splitlines()


def test_a_digest_is_one_or_the_release_stops(tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    for told, is_right in ((f"sha256:{'0a' * 32}", True), ("sha256:0a", False), ("", False)):
        docker.write_text(f"#!/bin/sh\necho {told}\n")
        docker.chmod(0o755)
        if is_right:
            assert sources.digest_of(sources.base_image(), docker=str(docker)) == told
        else:
            with pytest.raises(WrongRelease, match="the digest of python:"):
                sources.digest_of(sources.base_image(), docker=str(docker))
    docker.write_text("#!/bin/sh\necho no such host >&2; exit 1\n")
    with pytest.raises(WrongRelease, match="no such host"):
        sources.digest_of(sources.base_image(), docker=str(docker))


def test_sums_are_signed_and_a_changed_file_is_noticed(tmp_path: Path) -> None:
    files, keys = tmp_path / "files", tmp_path / "keys"
    files.mkdir()
    keys.mkdir()
    (files / "ottla.whl").write_bytes(b"wheel")
    (files / ".gitignore").write_bytes(b"*")  # of uv; it is not published
    written = sums.write_sums(files)
    digest = "ba59926159d2aa256eb8739b8da7e2b574b960e1202c6d624cbe981cef996c91"
    assert written.read_text() == f"{digest}  ottla.whl\n"
    private, public = sums.new_key(keys)
    signature = sums.sign(written, private)
    assert sums.is_signed(written, signature, public)
    sums.verify(files)
    (files / "ottla.whl").write_bytes(b"another")
    with pytest.raises(WrongRelease, match=r"ottla\.whl: FAILED"):
        sums.verify(files)
    written.write_text(written.read_text().replace("ottla", "other"))
    assert not sums.is_signed(written, signature, public)
