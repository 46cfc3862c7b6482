"""The live page in a browser: each view, by mouse and by keyboard, and what it does not do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from .browsers import NARROW, WIDE, Theme, opened, violations_of_axe
from .live_broker import VIEWS, Seen, broker_to_see

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.page


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    with broker_to_see() as found:
        yield found


def opened_view(
    browser: Browser,
    seen: Seen,
    view: str,
    *,
    size: tuple[int, int] = WIDE,
    theme: Theme = "light",
) -> AbstractContextManager[Page]:
    """A view, when its answer is there; requests may go to its server alone."""
    ready = ".clock" if view == "clock" else "table"
    return opened(browser, seen.view(view), size=size, theme=theme, origin=seen.url, ready=ready)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_in_any_live_view(
    theme: Theme, size: tuple[int, int], browser: Browser, seen: Seen, axe: str
) -> None:
    for view in VIEWS:
        with opened_view(browser, seen, view, size=size, theme=theme) as page:
            assert violations_of_axe(page, axe) == [], view
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


def cells(page: Page, column: str) -> list[str]:
    """The texts of a column of the first table."""
    names = page.locator("table").first.locator("th").all_inner_texts()
    at = names.index(column) + 1
    rows = page.locator(f"table >> nth=0 >> tbody tr:not(.detail) td:nth-child({at})")
    texts: list[str] = rows.all_inner_texts()
    return texts


def test_records_have_their_fates_and_open_as_text_json_and_hexadecimal_digits(
    browser: Browser, seen: Seen
) -> None:
    with opened_view(browser, seen, "records") as page:
        fates = [each.split(" ", 1)[1] for each in cells(page, "fate")]
        assert fates == [
            "committed", "committed", "commit marker", "aborted", "aborted", "abort marker",
            "open", "open", "plain", "plain",
        ]  # fmt: skip
        page.get_by_role("button", name="Record 0", exact=True).click()
        value = page.locator(".record section").nth(1)
        assert '"id": 9007199254740993' in value.locator("pre").inner_text()
        assert "11.50" in value.locator("pre").inner_text()
        value.get_by_role("button", name="hex").click()
        assert value.locator("pre").inner_text().startswith("000000  7b 22 6f 72")
        value.get_by_role("button", name="text").click()
        assert value.locator("pre").inner_text().startswith('{"order"')


def test_hostile_names_and_values_are_texts(browser: Browser, seen: Seen) -> None:
    """A dialog, an error or a request of theirs would be a complaint of `opened`."""
    shown = "<img src=x onerror=alert(1)>\\x1b[31mred\\u202e"
    with opened_view(browser, seen, "records") as page:
        assert shown in cells(page, "value")[8]
        page.get_by_role("button", name="Record 8", exact=True).click()
        assert shown in page.locator(".record").inner_text()
        page.get_by_role("button", name="Record 9", exact=True).click()
        page.get_by_role("button", name="Load the whole record").click()
        page.get_by_text("900.0 kB").last.wait_for()
        assert page.locator("img").count() == 0
    with opened_view(browser, seen, "groups") as page:
        page.get_by_role("link", name=shown).click()
        page.get_by_role("heading", name=f"Group {shown}").wait_for()


def test_a_log_is_paged_and_a_form_leads_to_an_offset(browser: Browser, seen: Seen) -> None:
    with opened_view(browser, seen, "records") as page:
        page.get_by_label("Offset", exact=True).fill("7")
        page.keyboard.press("Enter")
        page.get_by_text("Records", exact=True).wait_for()
        assert cells(page, "offset")[:2] == ["7", "8"]
        page.get_by_role("button", name="Older").click()
        page.get_by_role("button", name="Record 6", exact=True).wait_for()
        assert cells(page, "offset") == [str(each) for each in range(7)]
        page.get_by_role("button", name="Newest").click()
        page.get_by_text("followed live").wait_for()


def test_the_lag_is_in_records(browser: Browser, seen: Seen) -> None:
    with opened_view(browser, seen, "group") as page:
        assert cells(page, "read_committed") == ["1", "0"]
        assert cells(page, "read_uncommitted") == ["7", "0"]
        assert cells(page, "offsets to the end") == ["9", "0"]
        assert cells(page, "not counted")[0] == "2 markers, 2 aborted, 2 open"


def test_the_page_says_why_a_reader_waits(browser: Browser, seen: Seen) -> None:
    with opened_view(browser, seen, "records") as page:
        page.get_by_role("button", name="Why is it stuck?").click()
        page.locator(".why li").first.wait_for()
        assert "shop-3" in page.locator(".why").inner_text()


def test_faults_are_added_and_removed(browser: Browser, seen: Seen) -> None:
    with opened_view(browser, seen, "faults") as page:
        page.get_by_label("Example").select_option("Hold each Produce")
        page.get_by_role("button", name="Add").click()
        page.get_by_role("cell", name="api=Produce").wait_for()
        assert len(seen.broker.lab().call("GET", "/faults")) == 2
        page.get_by_role("button", name="Remove rule 2").click()
        page.get_by_role("button", name="Yes, remove rule 2").click()
        page.get_by_role("cell", name="api=Produce").wait_for(state="detached")
        page.get_by_label("Rule, in JSON").fill("{")
        page.get_by_role("button", name="Add").click()
        page.get_by_text("The rule is no JSON.").wait_for()


def test_the_clock_advances(browser: Browser, seen: Seen) -> None:
    before = seen.broker.lab().call("GET", "/clock")["now_ms"]
    with opened_view(browser, seen, "clock") as page:
        page.get_by_label("Let pass").fill("2.5")
        page.get_by_label("Unit").select_option("seconds")
        page.get_by_role("button", name="Advance").click()
        page.get_by_text("2.5 s have passed.").wait_for()
    assert seen.broker.lab().call("GET", "/clock")["now_ms"] == before + 2500


def test_the_time_line_goes_on_and_is_filtered(browser: Browser, seen: Seen) -> None:
    with opened_view(browser, seen, "timeline") as page:
        seen.broker.create_topic("noticed")
        page.get_by_label("Filter").fill("noticed")
        page.get_by_role("cell", name="CreateTopics").first.wait_for()


def test_the_focus_goes_to_each_question_and_back(browser: Browser, seen: Seen) -> None:
    focused = "document.activeElement.textContent"
    with opened_view(browser, seen, "transactions") as page:
        page.get_by_role("button", name="Abort shop-3").focus()
        for _ in range(2):
            page.keyboard.press("Enter")
            assert page.evaluate(focused) == "Yes, abort"
            page.keyboard.press("Tab")
            assert page.evaluate(focused) == "No"
            page.keyboard.press("Enter")
            assert page.evaluate(focused) == "Abort"


def test_a_transaction_is_aborted_by_the_keyboard_alone(browser: Browser, seen: Seen) -> None:
    with opened_view(browser, seen, "cluster") as page:
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "Transactions":
                break
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Transactions").wait_for()
        page.get_by_role("button", name="Abort shop-3").wait_for()
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "Abort":
                break
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")  # the button that asks has the focus
        page.get_by_text("3 transactional ids, 0 with").wait_for()


def test_a_page_that_is_not_seen_asks_nothing(browser: Browser, seen: Seen) -> None:
    """The timers of the page are moved by hand: ten seconds are five rounds of its questions."""
    asked: list[str] = []
    with opened_view(browser, seen, "topics") as page:
        page.clock.install()
        page.evaluate("Object.defineProperty(document, 'hidden', {get: () => window.isHidden})")
        with page.expect_response("**/browse/topics*"):
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.evaluate("window.isHidden = true")
        page.wait_for_load_state("networkidle")
        page.on("request", lambda request: asked.append(request.url))
        page.clock.run_for(10_000)
        assert asked == []
        with page.expect_response("**/browse/topics*"):
            page.evaluate(
                "window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))"
            )
    assert asked
