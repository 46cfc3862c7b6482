"""Periods of time are read as by Java's Duration; Kafka's verdicts are in tests/wire."""

from __future__ import annotations

import pytest

from ottla.broker.settings.durations import duration_ms, reset_period_ms

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "period_ms"),
    [
        ("P1D", DAY_MS), ("P2DT3H4M5.678S", 2 * DAY_MS + 11_045_678), ("pt1h", 3_600_000),
        ("PT1,5S", 1_500), ("PT1.S", 1_000), ("PT1.123456789S", 1_123), ("PT-1.5S", -1_500),
        ("-PT1H", -3_600_000), ("-PT-1H", 3_600_000), ("P-1DT24H", 0), ("PT0.0009S", 0),
        (f"PT{2**63 - 1}S", (2**63 - 1) * 1_000), (f"PT{2**63}S", None),
        (f"P{2**63 // 86_400 + 1}D", None), (f"PT{'9' * 5_000}S", None),
        ("", None), ("P", None), ("PT", None), ("P1DT", None), ("PT.5S", None), ("P1W", None),
        ("PT1.1234567890S", None), ("PT1.2.3S", None), ("PT1M1H", None), (" PT1H", None),
        ("PT1\u017f", None), ("PT٣S", None),
    ],
)  # fmt: skip
def test_a_period_is_read_as_by_java(text: str, period_ms: int | None) -> None:
    assert duration_ms(text) == period_ms


def test_a_group_begins_no_negative_period_ago() -> None:
    assert reset_period_ms("by_duration:PT1H") == 3_600_000
    assert reset_period_ms("by_duration:-PT0S") == 0
    for wrong in ("by_duration:-PT1H", "by_duration:-PT0.0001S", "BY_DURATION:PT1H", "earliest"):
        assert reset_period_ms(wrong) is None
