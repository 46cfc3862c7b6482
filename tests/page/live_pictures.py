"""Makes the pictures of the live page for the documents (`make page-pictures`)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NamedTuple

from ..project_files import ROOT
from .browsers import NARROW, Theme, opened, running_browser
from .live_broker import broker_to_see

WIDE: Final = (1200, 320)
FOLDER: Final = ROOT / "docs" / "pictures"


class Shot(NamedTuple):
    """A picture: its view, and what is pressed before it is taken."""

    view: str
    size: tuple[int, int] = WIDE
    theme: Theme = "light"
    press: str = ""
    waits_for: str = "table"

    @property
    def name(self) -> str:
        """The name of its file, without the ending."""
        theme = "-dark" if self.theme == "dark" else ""
        return f"live-{self.view}{'-narrow' if self.size == NARROW else theme}"


SHOTS: Final = (
    Shot("cluster"),
    Shot("topics"),
    Shot("topic"),
    Shot("records", press="Record 1", waits_for=".record"),
    Shot("records", theme="dark"),
    Shot("records", NARROW),
    Shot("transactions"),
    Shot("groups"),
    Shot("group", press="Why is it stuck?", waits_for=".why [role=status] > *"),
    Shot("faults"),
    Shot("clock", waits_for=".clock"),
    Shot("timeline"),
)


def make_pictures(folder: Path) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(exist_ok=True)
    with broker_to_see() as seen, running_browser() as browser:
        for shot in SHOTS:
            address = seen.view(shot.view)
            ready = "main h1"
            with opened(
                browser, address, size=shot.size, theme=shot.theme, origin=seen.url, ready=ready
            ) as page:
                if shot.press:
                    page.get_by_role("button", name=shot.press, exact=True).click()
                page.wait_for_selector(shot.waits_for)
                is_whole = shot.size != NARROW
                page.screenshot(path=folder / f"{shot.name}.png", full_page=is_whole)
                sys.stdout.write(f"{shot.name}.png\n")


if __name__ == "__main__":
    make_pictures(FOLDER)
