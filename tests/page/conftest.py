"""A browser for all tests of pages, and the pages of traces."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.picture.page import write_page

from ..project_files import ROOT
from .browsers import running_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RECORDED = Path(__file__).parent / "billing.trace.jsonl.gz"
TITLE = "tests/test_billing.py::test_each_order_has_one_invoice"
FAILURE = "E  AssertionError: 12 orders have 7 invoices\nE  assert 7 == 12"


def recorded_lines() -> list[str]:
    """A trace of a service that copies in transactions: a lost answer, an abort, and a fence."""
    return gzip.decompress(RECORDED.read_bytes()).decode().splitlines()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    with running_browser() as found:
        yield found


@pytest.fixture(scope="session")
def billing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of a recorded trace."""
    file = tmp_path_factory.mktemp("page") / "billing.html"
    write_page(recorded_lines(), file, title=TITLE, failure=FAILURE)
    return file.as_uri()


@pytest.fixture(scope="session")
def axe() -> str:
    """The program of axe-core, which `make page` installs from npm."""
    return (ROOT / ".cache/page/node_modules/axe-core/axe.min.js").read_text()


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[..., str]:
    """Writes the page of other events; gives its address."""

    def write(events: object, title: str = "a test", failure: str | None = None) -> str:
        file = tmp_path / "page.html"
        write_page(events, file, title=title, failure=failure)  # type: ignore[arg-type]  # any lines
        return file.as_uri()

    return write
