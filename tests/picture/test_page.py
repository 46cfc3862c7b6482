"""The HTML file of a trace, and that no value of a trace becomes HTML or a program."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ottla.picture.page import render_page, write_page
from ottla.trace.events import Answer, BrokenTrace, Event, Request, fields_of

HOSTILE = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "<!-- <script>",
    "\x1b[31mred\x1b[0m", "\u202egnp.exe", "\ud800 lone", "a" * 1_000_000, "\0", "${x} {{x}} %s",
]  # fmt: skip


def trace(name: str = "orders") -> list[Event]:
    fields = {"transactional_id": name, "topics": [{"name": name}]}
    return [
        Request(seq=1, at_ms=1, api="InitProducerId", version=1, client_id=name, fields=fields),
        Answer(seq=2, at_ms=2, cause=1, api="InitProducerId", response={"producer_id": 1}),
    ]


def data_of(page: str, kind: str) -> list[Any]:
    """What the page has of one kind of data."""
    packed = re.findall(f'<script type="application/octet-stream" data-kind="{kind}">(.*?)</', page)
    return [json.loads(gzip.decompress(base64.b64decode(each))) for each in packed]


def test_a_page_has_the_model_and_the_fields_of_each_event() -> None:
    page = render_page(trace(), title="a test", failure="assert 1 == 2")
    (model,) = data_of(page, "model")
    assert (model["title"], model["failure"]) == ("a test", "assert 1 == 2")
    assert model["said"] == "assert 1 == 2"
    assert data_of(page, "piece") == [[fields_of(each) for each in trace()]]


def test_lines_of_a_file_make_the_same_page(tmp_path: Path) -> None:
    lines = [json.dumps(fields_of(each)) for each in trace()]
    of_structs = render_page(trace(), title="one")
    assert render_page(lines, title="one") == of_structs
    assert render_page([each.encode() for each in lines], title="one") == of_structs
    write_page(lines, tmp_path / "page.html", title="one")
    assert (tmp_path / "page.html").read_text() == of_structs


def test_integers_that_a_browser_would_round_are_texts_in_the_fields_of_an_event() -> None:
    parts = [{"high_watermark": 9223372036854775807, "offset": 9007199254740991, "is": True}]
    fields = {"partitions": parts, "lag": -9223372036854775808, "name": "9223372036854775807"}
    (piece,) = data_of(
        render_page([Request(seq=1, at_ms=1, api="Fetch", version=18, fields=fields)], title="x"),
        "piece",
    )
    assert piece[0]["request"] == {
        "partitions": [
            {"high_watermark": "9223372036854775807", "offset": 9007199254740991, "is": True}
        ],
        "lag": "-9223372036854775808", "name": "9223372036854775807",
    }  # fmt: skip


def test_an_empty_trace_has_a_page() -> None:
    (model,) = data_of(render_page([], title="none"), "model")
    assert model["rows"]["seq"] == []


def test_a_line_that_is_no_event_is_refused() -> None:
    with pytest.raises(BrokenTrace, match="line 1"):
        render_page(["{}", "{}"], title="broken")


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_no_value_becomes_html_or_a_program(value: str) -> None:
    usual = render_page(trace(), title="t", failure="f")
    page = render_page(trace(value), title=value, failure=value)
    page.encode()  # it can be written
    shape = re.compile("<(?:/?script|meta|style|img)[^>]*>")
    assert shape.findall(page) == shape.findall(usual)
    (model,) = data_of(page, "model")
    assert model["title"] == value
    assert max(map(len, model["rows"]["text"])) <= 400
    (title,) = re.findall("<title>(.*?)</title>", page, re.DOTALL)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f]", title)


def test_a_page_of_too_many_events_has_the_last_ones_and_says_so() -> None:
    events = [
        Request(seq=number, at_ms=number, api="Metadata", version=1) for number in range(1, 2501)
    ]
    page = render_page(events, title="many", most=2000)
    (model,) = data_of(page, "model")
    assert (model["total"], model["left_out"]) == (2500, 500)
    assert model["rows"]["seq"][0] == 501
    assert [len(piece) for piece in data_of(page, "piece")] == [1000, 1000]
