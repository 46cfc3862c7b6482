"""What axe-core says of the page, in each view, theme and size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .browsers import NARROW, WIDE, Theme, opened, violations_of_axe

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.page


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_in_any_view(
    theme: Theme, size: tuple[int, int], browser: Browser, billing: str, axe: str
) -> None:
    with opened(browser, f"{billing}#seq=136", size=size, theme=theme) as page:
        page.wait_for_selector("aside h3")
        page.get_by_label("Search events").fill("billing-1")
        assert violations_of_axe(page, axe) == []
        if size == NARROW:
            page.get_by_role("button", name="Filters and lanes").click()
        page.get_by_role("button", name="All APIs").click()
        assert violations_of_axe(page, axe) == []
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Help").click()
        assert violations_of_axe(page, axe) == []
