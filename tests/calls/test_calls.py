"""The requests of `scenes.py` need as few calls as `calls.txt` says."""

from __future__ import annotations

import asyncio

import pytest

from ottla.protocol.batch import build, headers_in
from ottla.protocol.varints import length

from .counting import Calls, measured, product_file
from .page import PAGE, with_table
from .record import PATH, Recorded, grown, read, text, updated
from .runs import Counted, counted


def test_no_request_has_grown_by_calls() -> None:
    """A row that needs more gets a line with the reason; see record.py."""
    records, counts = read(PATH.read_text()), counted()
    assert list(records) == list(counts), "make bench-calls ARGS=--write"
    assert not grown(records, counts)


def test_a_lab_without_a_rule_and_a_trace_adds_no_call_to_any_request() -> None:
    assert counted(with_lab=True) == counted()


def test_the_record_is_as_it_is_written() -> None:
    assert text(read(PATH.read_text())) == PATH.read_text()


def test_the_page_has_the_numbers_of_the_record() -> None:
    page = PAGE.read_text()
    assert with_table(page, read(PATH.read_text())) == page, "make bench-calls ARGS=--write"


def test_a_row_may_grow_by_three_percent() -> None:
    records = {"Fetch": Recorded(100, 20)}
    assert not grown(records, {"Fetch": Counted(103, 20)})
    assert grown(records, {"Fetch": Counted(104, 20)}) == ["Fetch: 104 calls; 103 are allowed"]


def test_a_row_may_grow_with_a_reason() -> None:
    records = read("100  20   Fetch\n    110: it reads more\n")
    assert records == {"Fetch": Recorded(100, 20, ((110, "it reads more"),))}
    assert not grown(records, {"Fetch": Counted(113, 20)})
    assert grown(records, {"Fetch": Counted(114, 20)})


def test_a_row_without_a_record_fails() -> None:
    assert grown({}, {"Fetch": Counted(1, 1)}) == ["Fetch: no record"]


def test_a_line_that_is_no_row_is_refused() -> None:
    with pytest.raises(ValueError, match="neither"):
        read("Fetch: 100\n")


def test_an_update_lowers_a_record_and_raises_none() -> None:
    records = {"Fetch": Recorded(100, 20), "Gone": Recorded(1, 1)}
    assert updated(records, {"Fetch": Counted(99, 19)}) == {"Fetch": Recorded(99, 19)}
    assert updated(records, {"Fetch": Counted(102, 19)}) == {"Fetch": Recorded(100, 19)}


def test_an_update_keeps_reasons_until_they_are_gone() -> None:
    records = {"Fetch": Recorded(100, 20, ((110, "why"),))}
    assert updated(records, {"Fetch": Counted(108, 20)}) == records
    assert updated(records, {"Fetch": Counted(90, 20)}) == {"Fetch": Recorded(90, 20)}


def test_functions_of_the_product_count_and_no_others() -> None:
    calls = Calls()
    with measured(calls):
        [sorted(str(number)) for number in range(3)]
        length(5, True)
        length(500, True)
    assert calls.by_function() == {
        ("protocol/varints.py", "length"): 2,
        ("protocol/varints.py", "unsigned"): 1,
    }
    assert (calls.count(), calls.files()) == (3, 1)


def test_each_step_of_a_generator_is_a_call_and_an_expression_is_none() -> None:
    batches = bytes(build([(None, b"v")], timestamp_ms=0)) * 2
    calls = Calls()
    with measured(calls):
        assert sum(1 for _ in headers_in(batches)) == 2
    assert calls.by_function()["protocol/batch.py", "headers_in"] == 3, "two batches, and the end"
    assert "test_calls.py" not in str(calls.by_function())


def test_compiled_functions_are_of_the_codec() -> None:
    assert product_file("<decoder v3>") == "protocol/decoding.py"
    assert product_file("<encoder v3>") == "protocol/encoding.py"
    assert product_file("<string>") is None
    assert product_file(asyncio.__file__) is None
