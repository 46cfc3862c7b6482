"""The compose files of `make test-image`: their images are replaced, their heads understood."""

from __future__ import annotations

import re

import pytest

from ..image.compose_files import BROKER, IMAGE_LINE, ComposeFile, files
from ..project_files import ROOT

HEADS = {
    *("outside", "inside", "healthy", "ends", "refused", "output", "topics", "partitions"),
    *("brokers", "returns", "kept", "needs"),
}
FILES = files()
PROJECTS = [file for file in FILES if file.path.parent.name == "projects"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_only_images_of_kafka_are_in_a_file(file: ComposeFile) -> None:
    """Others would be pulled, and the broker of the file would not be Ottla."""
    assert re.findall(r"^ +image: .+", IMAGE_LINE.sub("", file.text), re.MULTILINE) == []
    assert file.wanted.keys() <= HEADS
    named = " ".join(file.wanted.get(head, "") for head in ("healthy", "ends", "returns"))
    assert {*named.split()} <= {*file.services}


@pytest.mark.parametrize("file", PROJECTS, ids=lambda file: file.name)
def test_the_broker_of_a_project_becomes_healthy_and_is_used(file: ComposeFile) -> None:
    assert any(BROKER.fullmatch(each) for each in file.wanted["healthy"].split())
    assert file.wanted.keys() & {"inside", "outside"}


def test_the_page_names_each_project() -> None:
    page = (ROOT / "docs/how-to/containers.md").read_text().lower()
    words = page.replace("-", " ").replace(",", " ")
    assert [each.name for each in PROJECTS if each.name.split("_")[0] not in words] == []
