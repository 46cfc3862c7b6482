"""Makes the pictures of the documents (`make page-pictures`): each view, as small PNG files."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.picture.page import write_page

from ..project_files import ROOT
from .browsers import NARROW, Theme, opened, running_browser
from .conftest import FAILURE, TITLE, recorded_lines

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER: Final = ROOT / "docs" / "pictures"


class Shot(NamedTuple):
    """A picture: its name, the window, the event that is chosen, and what is searched."""

    name: str
    size: tuple[int, int]
    theme: Theme = "light"
    seq: int = 0
    words: str = ""


STORY: Final = Path(__file__).parent / "bills.trace.jsonl.gz"
STORY_TITLE: Final = "tests/test_bills.py::test_all_bills_are_written"
STORY_FAILURE: Final = (
    "E  AssertionError: assert ['bill-1', 'bill-3'] == ['bill-1', 'bill-2', 'bill-3']\n"
    "E    At index 1 diff: 'bill-3' != 'bill-2'"
)
SHOTS: Final = (
    Shot("trace-page", (1280, 860), seq=136),
    Shot("trace-page-dark", (1280, 860), "dark", seq=232),
    Shot("trace-page-search", (1280, 700), words="error:"),
    Shot("trace-page-narrow", NARROW, seq=128),
)


def make_pictures(folder: Path) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as name, running_browser() as browser:
        file = Path(name) / "billing.html"
        write_page(recorded_lines(), file, title=TITLE, failure=FAILURE)
        for shot in SHOTS:
            address = file.as_uri() + (f"#seq={shot.seq}" if shot.seq else "")
            with opened(browser, address, size=shot.size, theme=shot.theme) as page:
                if shot.seq:
                    page.wait_for_selector("aside h3")
                if shot.words:
                    page.get_by_role("button", name="Errors and faults").click()
                page.screenshot(path=folder / f"{shot.name}.png")
                sys.stdout.write(f"{shot.name}.png\n")
        _picture_story(browser, Path(name) / "bills.html", folder / "failed-test.png")


def _picture_story(browser: Browser, file: Path, picture: Path) -> None:
    """The page of a failed test, as it opens."""
    lines = gzip.decompress(STORY.read_bytes()).decode().splitlines()
    write_page(lines, file, title=STORY_TITLE, failure=STORY_FAILURE)
    with opened(browser, file.as_uri(), size=(1280, 760)) as page:
        page.screenshot(path=picture)
        sys.stdout.write(f"{picture.name}\n")


if __name__ == "__main__":
    make_pictures(FOLDER)
