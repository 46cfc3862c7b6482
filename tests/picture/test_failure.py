"""The line of a failed test that ends the story of its page."""

from __future__ import annotations

import pytest

from ottla.picture.failure import MOST_CHARACTERS, said_by

CHAINED = """
E   KeyError: 'x'

During handling of the above exception, another exception occurred:

>       raise AssertionError("12 orders") from error
E   AssertionError: 12 orders
E     assert 7 == 12

test_x.py:2: AssertionError
"""


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (None, None),
        ("", None),
        ("\n \n", None),
        ("E", None),
        ("E   assert 1 == 2\nE    +  where 1 = len([])\n\nx.py:3: AssertionError", "assert 1 == 2"),
        (
            "E  assert ['a...', 'b'] == ['a...', 'c']\nE    \nE    At index 1 diff: 'b' != 'c'\n",
            "assert ['a...', 'b'] == ['a...', 'c']: At index 1 diff: 'b' != 'c'",
        ),
        ("E  KeyError: 'a...'", "KeyError: 'a...'"),
        (CHAINED, "AssertionError: 12 orders"),
        ("Traceback\n  File x\nValueError: no\n", "ValueError: no"),
        ("Error is no mark of pytest\nlast", "last"),
    ],
)
def test_the_error_that_ended_the_test_is_said(failure: str | None, said: str | None) -> None:
    assert said_by(failure) == said


def test_a_long_line_is_cut() -> None:
    assert len(said_by("E  " + "x" * 1000) or "") == MOST_CHARACTERS
