"""The output is compared with what the input makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.client.fates import Fate
from ottla.client.record_reader import ReadRecord
from ottla.trials.torture.checks import (
    ABORTED_READ,
    LOST,
    TWICE,
    UNEXPECTED,
    Seen,
    WrongCheck,
    check_of,
    judge_output,
)


def record(
    topic: str, offset: int, value: str, fate: Fate = Fate.COMMITTED, key: str | None = None
) -> ReadRecord:
    data = value.encode()
    name = None if key is None else key.encode()
    return ReadRecord(topic, 0, offset, 0, name, data, (), fate, 1, 0)


INPUT = [
    record("in", 0, "a", key="1"),
    record("in", 1, "x", Fate.ABORTED, key="9"),
    record("in", 3, "b", Fate.PLAIN, key="2"),
]


def kinds(
    *output: ReadRecord, check: str = "copy", offset: int = 4, at_least_once: bool = False
) -> list[str]:
    seen = Seen(INPUT, output, {("in", 0): offset})
    return [each.kind for each in judge_output(check_of(check), seen, at_least_once=at_least_once)]


A, B = record("out", 0, "a", key="1"), record("out", 1, "b", key="2")


def test_each_value_once_is_right() -> None:
    assert kinds(A, B) == []
    assert kinds(A, record("out", 1, "a", Fate.ABORTED), record("out", 3, "b")) == []


def test_a_record_is_lost_if_its_offset_is_committed() -> None:
    assert kinds(A) == [LOST]
    assert kinds(A, offset=3) == []
    assert kinds(A, record("out", 1, "b", Fate.OPEN)) == [LOST]


def test_a_record_twice_is_wrong_with_exactly_once_alone() -> None:
    assert kinds(A, B, record("out", 5, "a")) == [TWICE]
    assert kinds(A, B, record("out", 5, "a"), at_least_once=True) == []


def test_records_of_aborted_transactions_and_foreign_ones_are_wrong() -> None:
    assert kinds(A, B, record("out", 5, "x")) == [ABORTED_READ]
    assert kinds(A, B, record("out", 5, "z")) == [UNEXPECTED]


def test_violations_name_the_records() -> None:
    seen = Seen(INPUT, [A, B, record("out", 5, "a")], {})
    (twice,) = judge_output(check_of("copy"), seen)
    assert twice.text == "a (in-0 at 0) is in the output 2 times: out-0 at 0, out-0 at 5"
    (lost,) = judge_output(check_of("copy"), Seen(INPUT, [A], {("in", 0): 4}))
    assert lost.text == "b (in-0 at 3) is not in the output, and its offset is committed"
    assert [str(each) for each in lost.input] == ["in-0 at 3"]


def test_keys_and_numbers_of_records_can_be_checked() -> None:
    other = record("out", 0, "A", key="1"), record("out", 1, "B", key="2")
    assert kinds(*other, check="key") == []
    assert kinds(other[0], check="key") == [LOST]
    assert kinds(*other, check="count") == []
    assert kinds(other[0], check="count") == [LOST]
    assert kinds(*other, *other, check="count") == [TWICE]


def test_a_regular_expression_finds_the_value_of_the_input() -> None:
    made = record("out", 0, '{"id": "a"}'), record("out", 1, '{"id": "b"}')
    assert kinds(*made, check='/"id": "(.*?)"/') == []
    assert kinds(*made, made[0], check='/"id": "(.*?)"/') == [TWICE]


def test_a_function_makes_the_values_of_the_output(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "def doubled(records):\n"
        "    for each in records:\n"
        "        yield each.value + b'1'\n"
        "        yield each.value.decode() + '2'\n"
    )
    check = check_of("shop.py:doubled", tmp_path)
    right = [record("out", at, value) for at, value in enumerate(["a1", "a2", "b1", "b2"])]
    assert judge_output(check, Seen(INPUT, right, {("in", 0): 4})) == []
    (lost,) = judge_output(check, Seen(INPUT, right[:3], {("in", 0): 4}))
    assert lost.text == "b2 is not in the output, and its offset is committed"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("cpoy", "--check cpoy: expected copy, key, count, /REGEX/,"),
        ("/(/", "--check /(/: no regular expression: "),
        ("/(a)(b)/", "--check /(a)(b)/: expected at most one group, not 2"),
        ("gone.py:f", "--check gone.py:f: there is no file "),
        ("no_such_module:f", "--check no_such_module:f: no_such_module cannot be imported: "),
        ("json:f", "--check json:f: json has no function f"),
    ],
)
def test_a_wrong_spec_is_refused(spec: str, text: str) -> None:
    with pytest.raises(WrongCheck) as refused:
        check_of(spec)
    assert str(refused.value).startswith(text)
