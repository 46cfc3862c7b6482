"""The page of a failed test: from its likely cause to the failure, and to the events of both."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ottla.protocol.errors import Code
from ottla.trace.events import ClockAdvanced, Request

from ..picture.traces import Trace, copied, fetch
from .browsers import NARROW, WIDE, opened
from .pictures import STORY, STORY_FAILURE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.page

SMALL = (600, 480)
Size = tuple[int, int]


@pytest.fixture
def bills(page_of: Callable[..., str]) -> str:
    """The address of the page of a failed test."""
    lines = gzip.decompress(STORY.read_bytes()).decode().splitlines()
    return page_of(lines, failure=STORY_FAILURE)


def test_the_summary_marks_the_likely_cause_and_ends_with_the_failure(
    browser: Browser, bills: str
) -> None:
    with opened(browser, bills) as page:
        items = page.locator(".findings li")
        (cause,) = page.locator(".findings .cause").all()
        assert "InitProducerId of" in cause.locator("xpath=..").inner_text()
        assert items.last.inner_text() == (
            "The test failed: AssertionError: assert ['bill-1', 'bill-3'] =="
            " ['bill-1', 'bill-2', 'bill-3']"
        )


def test_events_that_the_summary_names_are_tinted_and_others_are_not(
    browser: Browser, bills: str
) -> None:
    tint = "each => getComputedStyle(each).backgroundColor"
    with opened(browser, bills) as page:
        plain = page.locator(".line:not(.named):not(.gap)").first.evaluate(tint)
        named = page.locator(".line.named")
        assert named.first.evaluate(tint) != plain
        links = set(page.locator(".findings a").all_inner_texts())
        numbers = {f"#{each}" for each in named.locator(".time b").all_inner_texts()}
        assert numbers
        assert numbers <= links


@pytest.mark.parametrize("size", [SMALL, NARROW, WIDE], ids=str)
def test_the_summary_is_open_in_each_window(browser: Browser, bills: str, size: Size) -> None:
    with opened(browser, bills, size=size) as page:
        assert page.locator(".findings li").first.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


IS_CLEAR = """seq => {
    const line = document.querySelector(".line.chosen");
    if (line?.querySelector(".time b").textContent !== seq) return false;
    const own = line.getBoundingClientRect();
    const [head, view] = [".head", ".timeline"].map(
        name => document.querySelector(name).getBoundingClientRect());
    return head.bottom <= own.top + 1 && own.bottom <= view.bottom + 1;
}"""
"""Whether the line of an event is chosen, and in view below the head of the time line."""


@pytest.mark.parametrize("size", [SMALL, NARROW, WIDE], ids=str)
def test_a_linked_event_is_never_below_the_head_of_the_time_line(
    browser: Browser, bills: str, size: Size
) -> None:
    with opened(browser, bills, size=size) as page:
        first = page.get_by_role("option").first.locator(".time b").inner_text()
        links = page.locator(".findings a").all_inner_texts()
        for seq in [*links, first, *reversed(links)]:
            number = seq.removeprefix("#")
            page.evaluate("seq => { location.hash = `seq=${seq}`; }", number)
            page.wait_for_function(IS_CLEAR, arg=number, timeout=5000)


def test_the_first_view_has_the_likely_cause(browser: Browser, bills: str) -> None:
    with opened(browser, bills) as page:
        cause = page.locator(".findings li:has(.cause) a").first.inner_text().removeprefix("#")
        row = page.locator(".line.named", has_text=cause)
        head, box = page.locator(".head").bounding_box(), row.first.bounding_box()
        assert head is not None
        assert box is not None
        assert box["y"] >= head["y"] + head["height"]
        cut = page.evaluate("document.querySelector('.timeline').scrollTop % 24")
        assert cut == 0, "a line is cut by the head"


def test_an_arc_is_drawn_only_if_both_of_its_events_are(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    with opened(browser, page_of(copied().events)) as page:
        assert page.locator(".arc").count() == 2
        search, only = page.get_by_label("Search events"), page.get_by_text("Only found")
        search.fill("EndTxn")
        only.click()
        assert page.locator(".arc").count() == 0
        search.fill("offset:3")
        assert page.locator(".line").count() > 0
        assert page.locator(".arc").count() == 0
        search.fill("n")
        assert page.locator(".arc").count() == 2


def test_a_commit_that_was_refused_has_an_arc_of_another_kind(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    trace = copied()
    read = fetch(trace, "reader", "orders", 4, 4)
    part = {"partition_index": 0, "committed_offset": 5}
    answer = {"partition_index": 0, "error_code": int(Code.UNKNOWN_MEMBER_ID)}
    asked = {"group_id": "g", "topics": [{"name": "orders", "partitions": [part]}]}
    trace.call("reader", "OffsetCommit", asked, topics=[{"name": "orders", "partitions": [answer]}])
    with opened(browser, f"{page_of(trace.events)}#seq={read}") as page:
        assert page.locator(".arc.refused").count() == 1
        page.wait_for_selector("aside h3:text-is('Records')")
        assert (
            "not covered, as this was refused: orders-0 below 5"
            in page.locator("aside").inner_text()
        )


def test_a_move_of_the_clock_is_a_line_whatever_is_filtered(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    trace = Trace()
    trace.call("a", "Metadata", {})
    trace.add(ClockAdvanced(by_ms=45_000))
    trace.wait(45_000)
    trace.call("a", "Metadata", {})
    with opened(browser, page_of(trace.events)) as page:
        line = page.locator(".line:has(.clock)")
        assert line.locator(".text").inner_text() == "CLOCKthe clock moves forward by 45 s"
        page.get_by_role("button", name="All APIs").click()
        page.get_by_label("Metadata").check()
        assert line.count() == 1


def test_keys_and_values_begin_with_the_offset_that_was_asked_for(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    trace = Trace()
    batch = {
        "topic": "t", "partition": 0, "base_offset": 7, "last_offset": 9, "records": 3,
        "first_records": [{"key": None, "value": f"order-{number}"} for number in range(3)],
    }  # fmt: skip
    part = {"partition": 0, "fetch_offset": 8}
    asked = {"topics": [{"topic": "t", "partitions": [part]}]}
    trace.call("c", "Fetch", asked, responses=[], batches=[batch])
    with opened(browser, f"{page_of(trace.events)}#seq=1") as page:
        page.wait_for_selector("aside h3:text-is('Keys and values')")
        shown = page.locator(".contents").inner_text()
        assert "partition 0 from offset 8, 2 records" in shown
        assert "order-0" not in shown
        assert "order-1" in shown


def test_no_sign_that_turns_text_around_is_left_in_the_page(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    turning = "\u202e\u061c\u2066\u2028\u2060"
    trace = Trace()
    trace.call(turning, "Metadata", {"topics": [{"name": turning}]})
    with opened(browser, page_of(trace.events, title=turning, failure=turning)) as page:
        whole = page.title() + page.locator("body").inner_text()
        assert "\\u202e\\u061c\\u2066\\u2028\\u2060" in page.title()
        assert not set(turning) & set(whole)


def connect(trace: Trace, client: str) -> int:
    """The requests with which a client begins; the number of the first one."""
    first = trace.call(client, "ApiVersions", {})
    trace.call(client, "Metadata", {})
    trace.call(client, "FindCoordinator", {"key": "g"})
    return first


FOLDED = "▸ 6 requests that set up connections (ApiVersions, FindCoordinator, Metadata)"


def test_requests_that_set_up_connections_share_a_line_which_opens(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    trace = Trace()
    first = connect(trace, "a")
    connect(trace, "b")
    trace.call("a", "ListGroups", {})
    address = page_of(trace.events)
    with opened(browser, address) as page:
        lines = page.get_by_role("option")
        assert lines.locator(".text").all_inner_texts()[0] == FOLDED
        assert lines.count() == 2
        page.locator(".line.fold").click()
        assert lines.count() == 7
        assert page.locator("aside").count() == 0
        more = page.get_by_role("button", name="Connections and more")
        more.click()
        assert page.locator(".line.fold").count() == 0
        more.click()
        assert page.locator(".line.fold").count() == 1
        page.get_by_role("listbox").press("Home")
        assert page.locator(".line.chosen .time b").inner_text() == str(first)
    with opened(browser, f"{address}#seq={first + 4}") as page:
        assert page.locator(".line.chosen .text").inner_text().startswith("aFindCoordinator")


def test_a_setting_up_that_failed_or_that_a_sentence_names_has_a_line_of_its_own(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    trace = Trace()
    connect(trace, "a")
    refused = trace.call("a", "FindCoordinator", {"key": "g"}, error_code=29)
    connect(trace, "a")
    slow = trace.ask("a", "Metadata")
    trace.fail(slow, "delay")
    trace.answer(slow)
    connect(trace, "a")
    with opened(browser, page_of(trace.events)) as page:
        lines = page.locator(".line:not(.fold)")
        assert page.locator(".line.fold").count() == 3
        numbers = lines.locator(".time b").all_inner_texts()
        assert numbers == [str(each) for each in (refused, slow, slow + 1, slow + 2)]


def test_a_client_that_a_sentence_names_has_a_lane_while_others_share_one(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    trace = Trace()
    for number in range(40):
        trace.call(f"c{number}", "ListGroups", {})
    trace.call("c7", "Produce", {}, error_code=int(Code.NOT_LEADER_OR_FOLLOWER))
    names = ".head .lane.client"
    with opened(browser, page_of(trace.events)) as page:
        button = page.get_by_role("group", name="Lanes", exact=True).get_by_text("clients")
        assert page.locator(names).all_text_contents() == ["c7", "39 more clients"]
        assert button.get_attribute("aria-pressed") == "mixed"
        button.click()
        assert page.locator(names).count() == 40
        button.click()
        assert page.locator(names).all_text_contents() == ["40 clients"]


def test_a_single_lane_of_a_closed_kind_has_its_name(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    trace = Trace()
    trace.call("a", "TxnOffsetCommit", {"group_id": "bills", "transactional_id": "shop"})
    with opened(browser, page_of(trace.events)) as page:
        kinds = page.get_by_role("group", name="Lanes", exact=True)
        kinds.get_by_text("groups").click()
        kinds.get_by_text("transactional ids").click()
        assert page.locator(".head .lane.group").all_text_contents() == ["group bills"]
        assert page.locator(".head .lane.transaction").all_text_contents() == ["id shop"]


def test_an_integer_of_64_bits_is_shown_to_its_last_digit(
    browser: Browser, page_of: Callable[..., str]
) -> None:
    fields = {"high_watermark": 9223372036854775807}
    event = Request(seq=1, at_ms=1, api="Fetch", version=18, client_id="c", fields=fields)
    with opened(browser, f"{page_of([event])}#seq=1") as page:
        page.wait_for_selector("aside h3:text-is('Request')")
        assert "9223372036854775807" in page.locator("aside").inner_text()


def test_no_part_of_an_event_below_is_broken_into_two_columns(browser: Browser, bills: str) -> None:
    with opened(browser, bills, size=(1280, 800)) as page:
        page.locator(".findings li:has(.cause) a").first.click()
        page.wait_for_selector("main.below aside h3:text-is('Answer')")
        parts = page.locator(".sections > *").evaluate_all(
            "all => all.map(each => each.getClientRects().length)"
        )
        assert parts
        assert set(parts) == {1}


def test_a_time_line_that_is_cut_on_the_right_shows_it(browser: Browser, bills: str) -> None:
    with opened(browser, bills, size=SMALL) as page:
        line = page.locator(".timeline")
        assert "cut" in str(line.get_attribute("class"))
        line.evaluate("each => { each.scrollLeft = each.scrollWidth; }")
        page.locator(".timeline:not(.cut)").wait_for(timeout=5000)
