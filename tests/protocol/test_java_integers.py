"""Texts are numbers as in Java: of a fixed size, and of any length without a fault."""

from __future__ import annotations

import pytest

from ottla.protocol.java_integers import number_in

INT_MAX = 2**31 - 1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0), ("-0", 0), ("+5", 5), ("007", 7),
        (str(INT_MAX), INT_MAX), (str(INT_MAX + 1), None),
        (str(-INT_MAX - 1), -INT_MAX - 1), (str(-INT_MAX - 2), None),
        ("", None), ("+", None), ("-", None), ("+-1", None), (" 1", None), ("1 ", None),
        ("1_000", None), ("1.0", None), ("0x1", None), ("1L", None), ("\u00b2", None),
        ("\u0661", None),
        ("9" * 5_000, None), ("-" + "9" * 5_000, None), ("0" * 5_000, None),
    ],
)  # fmt: skip
def test_a_text_is_a_number_of_32_bits_or_none(text: str, number: int | None) -> None:
    assert number_in(text) == number


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_a_number_has_at_most_the_bits_that_are_asked_for(bits: int) -> None:
    most = (1 << bits - 1) - 1
    assert number_in(str(most), bits) == most
    assert number_in(str(most + 1), bits) is None
    assert number_in(str(-most - 1), bits) == -most - 1
    assert number_in(str(-most - 2), bits) is None
