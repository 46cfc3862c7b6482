"""--by-duration of the tools for groups reads periods as Java's Duration does."""

from __future__ import annotations

import pytest

from ottla.kafka_tools.groups.reset_plans import duration_ms_of


@pytest.mark.parametrize(
    ("text", "period_ms"), [("P1DT1H", 90_000_000), ("PT1,5S", 1_500), ("PT-1M", -60_000)]
)
def test_a_period_has_the_forms_of_java(text: str, period_ms: int) -> None:
    assert duration_ms_of(text) == period_ms


@pytest.mark.parametrize("text", ["P", "PT", "P1DT", "PT.5S", "PT٣S"])
def test_a_text_that_is_no_period_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be parsed to a Duration"):
        duration_ms_of(text)
