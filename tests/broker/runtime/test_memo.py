"""A memo forgets all rather than grow."""

from __future__ import annotations

from ottla.broker.runtime.memo import Memo, texts_bytes


def test_values_are_remembered_up_to_the_bound() -> None:
    memo: Memo[str, int] = Memo(limit_bytes=10)
    assert memo.keep("a", 1, 5) == 1
    assert memo.keep("b", 2, 5) == 2
    assert (memo.get("a"), memo.get("b"), memo.size_bytes) == (1, 2, 10)
    memo.keep("c", 3, 1)
    assert ("a" in memo, "c" in memo, memo.size_bytes) == (False, True, 1)


def test_a_value_remembered_twice_counts_once() -> None:
    memo: Memo[str, int] = Memo(limit_bytes=10)
    for found in range(2):
        memo.keep("a", found, 4)
    assert (memo.get("a"), memo.size_bytes, len(memo)) == (1, 4, 1)


def test_a_value_above_the_bound_is_not_remembered_and_evicts_nothing() -> None:
    memo: Memo[str, int] = Memo(limit_bytes=10)
    memo.keep("a", 1, 4)
    assert memo.keep("b", 2, 11) == 2
    assert ("a" in memo, "b" in memo) == (True, False)


def test_a_long_text_counts_its_length() -> None:
    assert texts_bytes("x" * 32_000) > 32_000 + texts_bytes()
