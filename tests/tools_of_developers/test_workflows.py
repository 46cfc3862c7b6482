"""Workflows and the action: what comes before what, and that all they use is named by a commit."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.release import numbers, sources
from tools.release.__main__ import outputs_of_names

from ..project_files import ROOT, files_in

WITH_ACTIONS = [*files_in(".github/workflows", "*.yml"), ROOT / "action.yml"]


def jobs(name: str) -> dict[str, Any]:  # Any: values of YAML
    content = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())
    found: dict[str, Any] = content["jobs"]
    return found


def before(job: str, of: dict[str, Any]) -> set[str]:
    """All jobs that have succeeded before one begins."""
    needed = of[job].get("needs", [])
    named = {needed} if isinstance(needed, str) else set(needed)
    return named.union(*(before(each, of) for each in named))


@pytest.mark.parametrize("job", ["pypi", "image", "page", "published"])
def test_nothing_is_published_before_the_tests(job: str) -> None:
    assert {"names", "tests", "image-tests", "packages"} <= before(job, jobs("release"))


def test_images_are_tested_on_both_architectures_from_the_base_that_is_published() -> None:
    of = jobs("release")
    job = of["image-tests"]
    assert job["strategy"]["matrix"]["machine"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    (tests,) = (each for each in job["steps"] if each.get("run") == "make test-image")
    base = "BASE_DIGEST=${{ needs.names.outputs.digest }}"
    assert tests["env"]["OTTLA_IMAGE_BUILD"] == f"--build-arg {base}"
    (build,) = (each for each in of["image"]["steps"] if each.get("id") == "build")
    assert base in build["with"]["build-args"].splitlines()


def test_each_output_that_a_job_uses_is_one_of_the_names() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    used = set(re.findall(r"needs\.names\.outputs\.(\w+)", text))
    declared = jobs("release")["names"]["outputs"]
    assert used == set(declared)
    known = outputs_of_names(
        f"v{numbers.version()}", image="ottla", known=[],
        changelog=f"\n## [{numbers.version()}] - 2026-12-01\n- A broom.",
    )  # fmt: skip
    made = {*re.findall(r"^(\w+)(?:=|<<)", known, re.MULTILINE), "base", "digest"}
    assert {name.rsplit(".", 1)[1].rstrip(" }") for name in declared.values()} <= made


def test_jobs_run_commands_that_can_be_tried_on_any_machine() -> None:
    """What remains are moves of files, packages of the machine, and the two hosts' own commands."""
    known = re.compile(
        r"make [a-z -]+( ARGS=.*)?|python3 -m tools\.release .*|sudo apt-get update .*"
        r"|mkdir dist && mv .*|gh release create .*|docker run --rm \"\$IMAGE:\$VERSION\" --version"
    )
    steps = [step for job in jobs("release").values() for step in job["steps"]]
    assert [step["run"] for step in steps if not known.fullmatch(step.get("run", "make x"))] == []


def test_no_two_releases_are_made_at_once() -> None:
    content = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert content["concurrency"] == {"group": "release"}


def test_the_image_without_a_release_has_the_version_of_the_sources() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert re.findall(r"^ARG VERSION=(.*)$", text, re.MULTILINE) == [numbers.version()]
    assert re.fullmatch(r"[a-z./-]+:[\w.-]+", sources.base_image())
    froms = re.findall(r"^FROM (.*)$", text, re.MULTILINE)
    assert froms == ["${BASE}${BASE_DIGEST:+@}${BASE_DIGEST} AS build", "scratch"]


def test_only_jobs_that_publish_may_write() -> None:
    writing = {
        name
        for name, job in jobs("release").items()
        if any(level == "write" for level in job.get("permissions", {}).values())
    }
    assert writing == {"pypi", "image", "page"}


@pytest.mark.parametrize("path", WITH_ACTIONS, ids=lambda path: path.name)
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


WHEELS = {path.name: path for path in (sources.WHEELS, sources.BUILD)}


def normal(name: str) -> str:
    """A package's name as PEP 503 compares them."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("path", WHEELS.values(), ids=WHEELS)
def test_wheels_of_the_image_are_named_by_hashes_at_the_constraints(path: Path) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if re.match(r"[\w.-]+==", line))
    constraints = {normal(name): version for name, version in pins.items()}
    for line in re.sub(r" *\\\n +", " ", path.read_text()).splitlines():
        if line.startswith("#"):
            continue
        wanted = re.fullmatch(
            r"([\w.-]+)==(\S+)( ; [^#]*?)?((?: --hash=sha256:[0-9a-f]{64})+)", line
        )
        assert wanted, line
        assert constraints[normal(wanted[1])] == wanted[2]


def test_the_image_has_a_hash_for_each_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [
        *project["project"]["dependencies"],
        *(w for each in sources.EXTRAS for w in extras[each]),
    ]
    (build,) = project["build-system"]["requires"]
    assert build in (ROOT / "docker/build-requirements.in").read_text().splitlines()
    for text, needed in (
        (sources.WHEELS.read_text(), wanted),
        (sources.BUILD.read_text(), [build]),
    ):
        listed = {normal(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
        assert {normal(re.split(r"[<>=;]", each)[0]) for each in needed} <= listed


def test_the_dev_container_has_the_broker_of_this_checkout_beside_the_editor() -> None:
    folder = ROOT / ".devcontainer"
    about = json.loads((folder / "devcontainer.json").read_text())
    services = yaml.safe_load((folder / about["dockerComposeFile"]).read_text())["services"]
    editor = services[about["service"]]
    host, _, port = editor["environment"]["OTTLA_BOOTSTRAP"].partition(":")
    broker = services[host]
    assert broker["build"] == ".."
    assert broker["environment"]["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{host}:{port}"
    assert editor["depends_on"] == {host: {"condition": "service_healthy"}}
    assert editor["volumes"] == [f"..:{about['workspaceFolder']}:cached"]
