"""The page of a trace: each view, each choice, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ottla.trace.events import Event, Request

from ..picture.traces import Trace, copied
from .browsers import NARROW, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.page


def lanes(page: Page) -> list[str]:
    names: list[str] = page.locator(".head .lane").all_text_contents()
    return names


def chosen(page: Page) -> str:
    number: str = page.locator(".line.chosen .time b").inner_text()
    return number


def search(page: Page, words: str) -> None:
    page.get_by_label("Search events").fill(words)


def told(page: Page) -> str:
    count: str = page.locator(".count").inner_text()
    return count


def test_a_page_has_its_title_the_failure_and_the_events(browser: Browser, billing: str) -> None:
    with opened(browser, billing) as page:
        assert page.title() == "tests/test_billing.py::test_each_order_has_one_invoice"
        assert "12 orders have 7 invoices" in page.locator(".failure").inner_text()
        assert "322 events" in page.locator("header").inner_text()
        assert page.get_by_role("option").first.is_visible()


def test_the_first_finding_is_in_view_and_each_leads_to_its_event(
    browser: Browser, billing: str
) -> None:
    with opened(browser, billing) as page:
        findings = page.locator(".findings li")
        assert "Fault rule 1 (drop_answer close=True)" in findings.first.inner_text()
        row = page.locator(".line.fault")
        box, window = row.bounding_box(), page.locator(".timeline").bounding_box()
        assert box is not None
        assert window is not None
        assert window["y"] < box["y"] < window["y"] + window["height"]
        findings.nth(1).get_by_role("link").first.click()
        page.wait_for_selector("aside h3")
        assert chosen(page) in findings.nth(1).inner_text()


def test_the_lines_of_the_assertion_come_before_the_whole_report(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    report = "    def test_it():\n>       assert 1 == 2\nE       assert 1 == 2\n\ntest_x.py:2: x"
    with opened(browser, page_of(copied().events, failure=report)) as page:
        assert page.get_by_label("The failed assertion").inner_text() == "assert 1 == 2"
        page.get_by_text("the whole report").click()
        assert "def test_it():" in page.get_by_label("The whole report").inner_text()


def test_each_kind_of_lane_opens_and_closes(browser: Browser, billing: str) -> None:
    with opened(browser, billing) as page:
        for kind, one in (
            ("clients", "billing-writer"), ("transactional ids", "billing-1"),
            ("groups", "billing"), ("members", "billing-second-ffbbff2c"),
            ("coordinators", "__transaction_state-45"), ("partitions", "invoices-0"),
        ):  # fmt: skip
            button = page.get_by_role("group", name="Lanes", exact=True).get_by_text(
                kind, exact=True
            )
            while button.get_attribute("aria-pressed") != "false":  # of some lanes it is "mixed"
                button.click()
            assert one not in lanes(page)
            button.click()
            assert one in lanes(page)


def test_a_single_lane_is_hidden_and_comes_back(browser: Browser, billing: str) -> None:
    with opened(browser, billing) as page:
        page.get_by_role("button", name="Lanes:").click()
        page.get_by_label("Filter: Lanes").fill("transaction billing-1")
        page.get_by_label("transaction billing-1").click()
        assert "billing-1" not in lanes(page)
        page.get_by_role("button", name="All", exact=True).click()
        assert "billing-1" in lanes(page)


def test_transactions_have_numbers_and_states_have_bands(browser: Browser, billing: str) -> None:
    with opened(browser, f"{billing}#seq=115") as page:
        assert page.locator(".line.chosen .tag").inner_text() == "T1"
        assert "Ongoing" in page.locator(".band.state text").all_text_contents()
        assert page.locator(".arc.cover").count() > 0
        assert page.locator(".arc.copy").count() > 0
        page.get_by_role("button", name="Arcs").click()
        assert page.locator(".arc").count() == 0


def test_no_line_of_an_event_crosses_the_name_of_a_state(browser: Browser, billing: str) -> None:
    """The name stays in view while the page scrolls, between two lines."""
    middles = """all => all.map(each => {
        const at = each.getBoundingClientRect();
        return at.y + at.height / 2;
    })"""
    scroll = """async pixels => {
        document.querySelector(".timeline").scrollTop = pixels;
        for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
    }"""
    with opened(browser, billing) as page:
        for pixels in (1000, 1007, 1013, 1019):
            page.evaluate(scroll, pixels)
            names = page.locator(".band text").evaluate_all(middles)
            lines = page.locator(".joint").evaluate_all(middles)
            assert names
            assert min(abs(name - line) for name in names for line in lines) > 6, pixels


def test_a_link_leads_to_one_event(browser: Browser, billing: str) -> None:
    with opened(browser, f"{billing}#seq=136") as page:
        assert chosen(page) == "136"
        assert page.locator(".line.chosen .word").inner_text() == "FAULT"
        page.evaluate("location.hash = 'seq=118'")
        page.wait_for_selector("aside[aria-label='Event 118']")
        assert chosen(page) == "118"


def test_an_event_shows_both_sides_its_changes_and_its_records(
    browser: Browser, billing: str
) -> None:
    with opened(browser, f"{billing}#seq=131") as page:
        details = page.locator("aside.details")
        page.wait_for_selector("aside h3:text-is('records_appended')")
        headings = details.locator("h3").all_text_contents()
        links = ["Transaction T1", "Answered by", "Changed", "Records"]
        assert headings == [*links, "Request", "Answer", "records_appended"]
        assert "committed_offset" in details.inner_text()
        details.get_by_role("button", name="#133").click()
        assert chosen(page) == "133"
        details.get_by_role("button", name="#131").first.click()
        assert chosen(page) == "131"
        page.get_by_label("Close the event").click()
        assert details.count() == 0


def test_a_click_chooses_and_the_address_says_so(browser: Browser, billing: str) -> None:
    with opened(browser, billing) as page:
        page.get_by_role("option").nth(3).click()
        assert page.url.endswith(f"#seq={chosen(page)}")


def test_a_line_under_the_mouse_shows_all_of_its_text(browser: Browser, billing: str) -> None:
    with opened(browser, f"{billing}#seq=131") as page:
        page.locator(".line.chosen .text").hover()
        text = page.locator("[role=tooltip]").inner_text()
        assert "TxnOffsetCommit billing-1" in text
        assert "group billing" in text
        page.locator("h1").hover()
        assert page.locator("[role=tooltip]").count() == 0


def test_the_text_over_a_line_goes_with_a_click_a_key_or_a_scroll(
    browser: Browser, billing: str
) -> None:
    with opened(browser, billing) as page:
        tip, line = page.locator("[role=tooltip]"), page.locator(".line.named .text").first
        scroll = "document.querySelector('.timeline').scrollTop += 24"
        for leave in (
            line.click,
            lambda: page.keyboard.press("ArrowDown"),
            lambda: page.evaluate(scroll),
        ):
            page.locator("h1").hover()
            line.hover()
            tip.wait_for()
            leave()
            tip.wait_for(state="detached")


@pytest.mark.parametrize(
    ("words", "seq"),
    [
        ("AddOffsetsToTxn commit", None), ("AddOffsetsToTxn", "115"), ("topic:invoices", "12"),
        ("id:billing-second", "229"), ("client:billing-writer-2", "258"), ("api:EndTxn", "135"),
        ("error:EPOCH", "303"), ("offset:6 api:TxnOffsetCommit", "165"), ("seq:118", "118"),
    ],
)  # fmt: skip
def test_a_search_finds_the_first_event(
    words: str, seq: str | None, browser: Browser, billing: str
) -> None:
    with opened(browser, billing) as page:
        search(page, words)
        if seq is None:
            assert told(page) == "0 found"
            return
        page.keyboard.press("Enter")
        found = page.locator(".line.chosen .time b")
        assert found.inner_text() == seq


def test_found_events_are_visited_in_turn_and_may_be_the_only_ones(
    browser: Browser, billing: str
) -> None:
    with opened(browser, billing) as page:
        search(page, "api:EndTxn")
        count = int(told(page).split()[0])
        seen = []
        for _ in range(count + 1):
            page.get_by_label("Next found event").click()
            seen.append(chosen(page))
        assert seen[0] == seen[-1]
        assert len(set(seen)) == count
        page.get_by_label("Previous found event").click()
        assert chosen(page) == seen[-2]
        page.get_by_text("Only found").click()
        assert page.get_by_role("option").count() == count


def test_errors_clients_and_apis_are_filters(browser: Browser, billing: str) -> None:
    with opened(browser, billing) as page:
        everything = page.locator("header").inner_text()
        page.get_by_role("button", name="Errors and faults").click()
        lines = page.get_by_role("option").all_text_contents()
        assert len(lines) == 3  # each refusal once, and none that a healthy client expects
        assert all("ERROR" in each or "FAULT" in each for each in lines)
        page.get_by_role("button", name="Errors and faults").click()
        page.get_by_role("button", name="All APIs").click()
        page.get_by_label("LeaveGroup").check()
        assert all("LeaveGroup" in each or "group billing" in each or "GroupStored" in each
                   for each in page.get_by_role("option").all_text_contents())  # fmt: skip
        page.keyboard.press("Escape")
        page.get_by_role("button", name="All clients").click()
        page.get_by_label("shop").check()
        assert page.locator(".empty").is_visible()
        page.get_by_role("button", name="None").click()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="APIs: 1").click()
        page.get_by_role("button", name="None").click()
        assert page.locator("header").inner_text() == everything


def test_connections_are_shown_if_they_are_asked_for(browser: Browser, billing: str) -> None:
    with opened(browser, billing) as page:
        search(page, "disconnects")
        page.get_by_text("Only found").click()
        assert page.get_by_role("option").count() == 0
        page.get_by_role("button", name="Connections and more").click()
        assert page.get_by_role("option").count() > 0


def test_a_gap_is_one_line_with_its_length(browser: Browser, page_of: Callable[..., str]) -> None:
    trace = Trace()
    trace.call("a", "Metadata", {})
    trace.wait(95_000)
    trace.call("a", "Metadata", {})
    with opened(browser, page_of(trace.events)) as page:
        assert page.locator(".gap").count() == 1
        assert "no event for 1.6 min" in page.locator(".gap").inner_text()


def test_the_keyboard_alone_reaches_everything(browser: Browser, billing: str) -> None:
    with opened(browser, billing) as page:
        press = page.keyboard.press
        press("/")
        page.keyboard.type("error:PRODUCER_FENCED")
        press("Enter")
        press("Escape")
        assert chosen(page) == "302"
        press("E")
        assert chosen(page) == "144"
        press("e")
        assert chosen(page) == "303"  # the answer to what was refused in 302
        press("Escape")
        assert page.locator("aside").count() == 0
        for _ in range(60):  # through all the tools to the time line
            press("Tab")
            if page.evaluate("document.activeElement.className") == "timeline":
                break
        press("Home")
        first = chosen(page)
        press("ArrowDown")
        second = chosen(page)
        press("ArrowUp")
        assert (chosen(page), second != first) == (first, True)
        press("PageDown")
        assert int(chosen(page)) > int(second)
        press("End")
        assert int(chosen(page)) > 300
        press("?")
        page.get_by_role("dialog").wait_for(timeout=5000)
        press("Escape")
        page.get_by_role("dialog").wait_for(state="detached", timeout=5000)


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_the_theme_is_that_of_the_system_until_the_reader_chooses(
    browser: Browser, billing: str
) -> None:
    with opened(browser, billing, theme="light") as page:
        light = background(page)
        page.get_by_role("button", name="Theme").click()
        page.wait_for_selector("html[data-theme='dark']", state="attached")
        dark = background(page)
        assert light != dark
        page.reload()
        page.wait_for_selector(".line")
        assert background(page) == dark
    with opened(browser, billing, theme="dark") as page:
        assert background(page) == dark


def test_a_narrow_window_has_no_part_outside_of_it(browser: Browser, billing: str) -> None:
    with opened(browser, f"{billing}#seq=131", size=NARROW) as page:
        page.wait_for_selector("aside h3:text-is('Answer')")
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
        line = page.locator(".timeline").bounding_box()
        details = page.locator("aside").bounding_box()
        assert line is not None
        assert details is not None
        assert details["y"] >= line["y"] + line["height"]
        assert line["height"] > 150
        page.get_by_role("button", name="Filters and lanes").click()
        page.get_by_role("button", name="All APIs").click()
        box = page.get_by_role("group", name="All APIs").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW[0]


def test_an_empty_trace_says_so(browser: Browser, page_of: Callable[..., str]) -> None:
    with opened(browser, page_of([])) as page:
        assert "an empty trace" in page.locator("header").inner_text()


HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m<script>alert(2)</script>\ud800"


def test_hostile_names_and_values_are_texts(browser: Browser, page_of: Callable[..., str]) -> None:
    events: list[Event] = [
        Request(
            seq=number, at_ms=number, api=HOSTILE, version=1, client_id=HOSTILE + "x" * 100_000,
            fields={"transactional_id": HOSTILE, "group_id": HOSTILE, HOSTILE: "v" * 1_000_000},
        )
        for number in range(1, 30)
    ]  # fmt: skip
    with opened(browser, page_of([*events], title=HOSTILE, failure=HOSTILE)) as page:
        page.get_by_role("option").nth(2).click()
        page.wait_for_selector("aside h3:text-is('Request')")
        page.locator(".line.chosen .text").hover()
        search(page, "<img")
        assert told(page) == "29 found"
        assert page.locator("img, #page script, iframe").count() == 0
        assert "<img src=x onerror=alert(1)>" in page.locator("h1").inner_text()
        assert "\\u202e" in page.locator("h1").inner_text()


def test_an_unfinished_transaction_is_open_in_its_partition(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    with opened(browser, page_of(copied().events[:-5])) as page:
        page.get_by_role("option").nth(3).click()
        assert "is still open at the end" in page.locator("aside").inner_text()
