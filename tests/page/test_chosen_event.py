"""The chosen event on the page of a trace: its place, its keys and values, and usual errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ottla.protocol.errors import Code
from ottla.trace.events import RuleAdded, RuleRemoved

from ..picture.traces import Trace
from .browsers import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.page

VERY_WIDE = (1920, 900)
LAPTOP = (1280, 800)
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


def width_of(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None
    width: float = box["width"]
    return width


def is_below(page: Page) -> bool:
    line = page.locator(".timeline").bounding_box()
    details = page.locator("aside.details").bounding_box()
    assert line is not None
    assert details is not None
    return bool(details["y"] >= line["y"] + line["height"])


def test_sentences_keep_their_room_beside_a_chosen_event(browser: Browser, billing: str) -> None:
    for size, below in ((LAPTOP, True), (VERY_WIDE, False)):
        with opened(browser, billing, size=size) as page:
            page.get_by_role("option").first.click()
            page.wait_for_selector("aside h3")
            assert is_below(page) == below, size
            assert width_of(page, ".line.chosen .text") >= 600
            assert page.locator(".line.chosen").is_visible()


def test_the_reader_moves_the_event_below_and_beside(browser: Browser, billing: str) -> None:
    with opened(browser, f"{billing}#seq=131", size=VERY_WIDE) as page:
        page.wait_for_selector("aside h3")
        page.get_by_label("Show the event below the time line").click()
        assert is_below(page)
        page.get_by_label("Show the event beside the time line").click()
        assert not is_below(page)


def trace_of(value: str) -> Trace:
    """A record that is written and read."""
    trace = Trace()
    record = {"key": "k-1", "value": value}
    batch = {
        "topic": "t", "partition": 0, "records": 5, "base_offset": 7,
        "first_records": [record, {"key": None, "value": None}],
    }  # fmt: skip
    trace.call("writer", "Produce", {"batches": [batch]}, responses=[])
    trace.call("reader", "Fetch", {"topics": []}, responses=[], batches=[batch])
    return trace


def test_keys_and_values_are_shown_with_their_place(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    with opened(browser, page_of(trace_of("a broom").events)) as page:
        texts = page.locator(".line .text").all_text_contents()
        assert "“k-1”=“a broom”, null" in texts[0]
        assert "“k-1”=“a broom”, null" in texts[1]
        page.get_by_role("option").last.click()
        page.wait_for_selector("aside h3:text-is('Keys and values')")
        shown = page.locator(".contents").inner_text()
        assert "partition 0 from offset 7, 5 records" in shown
        assert "k-1 → a broom" in shown
        assert "and 3 more" in shown
        page.get_by_label("Search events").fill("broom")
        assert page.locator(".count").inner_text() == "2 found"


def test_hostile_values_are_texts(browser: Browser, page_of: Callable[..., str]) -> None:
    with opened(browser, page_of(trace_of(HOSTILE).events)) as page:
        page.get_by_role("option").first.click()
        page.wait_for_selector("aside h3:text-is('Keys and values')")
        shown = page.locator(".contents").inner_text()
        assert "</script><img src=x onerror=alert(1)>\\u202e" in shown
        assert page.locator("img").count() == 0


def test_usual_errors_are_not_red_and_name_the_next_step_of_the_client(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    trace = Trace()
    group = {"group_id": "g"}
    trace.call("c", "JoinGroup", group, error_code=int(Code.MEMBER_ID_REQUIRED))
    trace.call("c", "JoinGroup", group, error_code=int(Code.INCONSISTENT_GROUP_PROTOCOL))
    with opened(browser, page_of(trace.events)) as page:
        assert page.locator(".line.error").count() == 1
        assert page.get_by_role("button", name="Errors and faults (1)").is_visible()
        assert page.locator(".line .text").first.inner_text().endswith("(usual)")
        page.get_by_role("option").first.click()
        said = page.locator("aside .said.dim").inner_text()
        assert said.startswith("MEMBER_ID_REQUIRED is usual: the member joins again")
        page.get_by_label("Search events").fill("error:MEMBER_ID")
        assert page.locator(".count").inner_text() == "1 found"


def test_the_moments_of_a_rule_are_lines(browser: Browser, page_of: Callable[..., str]) -> None:
    trace = Trace()
    trace.add(RuleAdded(id=3, action={"kind": "hold"}, added_by="test_shop.py:3 in test_it"))
    trace.add(RuleRemoved(id=3, fired=0))
    with opened(browser, page_of(trace.events)) as page:
        texts = page.locator(".line .text").all_text_contents()
        assert texts == [
            "rule 3 added by test_shop.py:3 in test_it: hold for all requests",
            "rule 3 removed, which acted 0 times",
        ]
