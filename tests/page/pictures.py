"""Makes the pictures of the documents (`make page-pictures`): each view, as small PNG files."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from ottla.picture.page import write_page

from ..project_files import ROOT
from .browsers import NARROW, Theme, opened, running_browser
from .conftest import FAILURE, TITLE, recorded_lines

FOLDER: Final = ROOT / "docs" / "pictures"


class Shot(NamedTuple):
    """A picture: its name, the window, the event that is chosen, and what is searched."""

    name: str
    size: tuple[int, int]
    theme: Theme = "light"
    seq: int = 0
    words: str = ""


SHOTS: Final = (
    Shot("trace-page", (1280, 760), seq=136),
    Shot("trace-page-dark", (1280, 760), "dark", seq=232),
    Shot("trace-page-search", (1280, 560), words="error:"),
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


if __name__ == "__main__":
    make_pictures(FOLDER)
