"""Opens pages in headless Chromium, and watches what they ask for and complain of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Theme = Literal["light", "dark"]
WIDE = (1360, 860)
NARROW = (390, 780)


class PageComplained(AssertionError):
    """A page has an error in its console, or asked for something of another origin."""


def path_of_chromium() -> str:
    """The program of Debian's Chromium, or OTTLA_CHROMIUM. Raises FileNotFoundError."""
    found = os.environ.get("OTTLA_CHROMIUM") or shutil.which("chromium")
    if not found:
        raise FileNotFoundError("the tests of pages need chromium: make test-page installs it")
    return found


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A headless Chromium, until the end of the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Root has no sandbox of its own, as in containers.
        browser = driver.chromium.launch(executable_path=path_of_chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser,
    address: str,
    *,
    size: tuple[int, int] = WIDE,
    theme: Theme = "light",
    origin: str = "file://",
    ready: str = ".line, .empty",
) -> Iterator[Page]:
    """A page in a context of its own.

    Args:
        address: of the page.
        size: width and height of the window.
        theme: what the reader's system prefers.
        origin: what the addresses of all requests have to begin with.
        ready: a selector of what is there when the page is drawn.

    Raises:
        PageComplained: at the end, if the console has an error or a request went elsewhere.
    """
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, timezone_id="UTC"
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))

    def hear(message: Any) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def see(request: Any) -> None:
        if not request.url.startswith((origin, "blob:", "data:")):
            complaints.append(f"a request to {request.url}")

    page.on("console", hear)
    page.on("request", see)
    page.goto(address)
    page.wait_for_selector(ready, timeout=60_000)
    yield page
    context.close()
    if complaints:
        raise PageComplained("\n".join(complaints))


def violations_of_axe(page: Page, program: str) -> list[str]:
    """What axe-core finds that is serious or critical.

    Args:
        program: the text of axe.min.js.
    """
    # Evaluated by the debugger: the page's policy lets no other program in.
    page.evaluate(program)
    found = page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
    )
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
