"""A page of 100,000 events: how long it works to scroll and to search."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from ottla.trace.events import BrokenTrace, Event, event_of
from ottla.trace.reader import read_objects

from .browsers import opened
from .conftest import recorded_lines

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.page
EVENTS = 100_000
MOST_MS = 100
STEPS = 20
_SCROLL = """async ([by, steps]) => {
    const line = document.querySelector(".timeline");
    for (let i = 0; i < steps; i++) {
        line.scrollTop += by;
        await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    }
}"""
_SEARCH = """async words => {
    const input = document.querySelector("input[type=search]");
    input.value = words;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    return document.querySelector(".count").textContent;
}"""


def many_events(count: int) -> Iterator[Event]:
    """The recorded trace again and again, with numbers and times that grow."""
    lines = list(read_objects(recorded_lines()))
    top, span_ms = lines[-1]["seq"], lines[-1]["at_ms"] - lines[0]["at_ms"] + 100
    for number in range(count):
        turn, place = divmod(number, len(lines))
        line: dict[str, Any] = dict(lines[place])
        line["seq"] += turn * top
        line["at_ms"] += turn * span_ms
        if line.get("cause"):
            line["cause"] += turn * top
        yield event_of(line)


class Work:
    """Measures the time that the page's thread works, which other programs do not change."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def of(self, act: Callable[[], object]) -> float:
        """The milliseconds of work of an action."""
        before = self._now_ms()
        act()
        return self._now_ms() - before

    def _now_ms(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return next(1000 * float(m["value"]) for m in metrics if m["name"] == "TaskDuration")


def test_scroll_and_search_in_100000_events_take_less_than_100_ms(
    browser: Browser, page_of: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    figures: dict[str, float] = {}
    with opened(browser, page_of(many_events(EVENTS))) as page:
        work = Work(page)
        for name, by in (("lines", 100), ("a page", 700), ("far", 40_007)):
            ms = work.of(partial(page.evaluate, _SCROLL, [by, STEPS])) / STEPS
            figures[f"scroll by {name}"] = ms
        for words in ("o", "orders", "error:FENCED", "offset:3", "topic:invoices", "id:billing"):
            figures[f"search {words}"] = work.of(partial(page.evaluate, _SEARCH, words))
        assert "found" in page.locator(".count").inner_text()
    with capsys.disabled():
        sys.stdout.write(f"\nwork of the page's thread with {EVENTS} events, in ms:\n")
        for name, ms in figures.items():
            sys.stdout.write(f"  {name}: {ms:.0f}\n")
    assert max(figures.values()) < MOST_MS, figures


def test_more_events_than_a_page_holds_are_cut_and_the_page_says_so(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    with opened(browser, page_of(many_events(EVENTS + 500))) as page:
        note = page.get_by_role("note").inner_text()
        assert "100,500 events" in note
        assert "last 100,000" in note
        page.locator(".timeline").focus()
        page.keyboard.press("End")
        page.wait_for_selector(".line.chosen")  # drawn after the scroll


def test_a_broken_trace_has_no_page(page_of: Callable[..., str]) -> None:
    with pytest.raises(BrokenTrace):
        page_of(["{}", "{}"])
