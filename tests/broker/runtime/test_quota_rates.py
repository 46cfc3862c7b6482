"""Use is measured, and waiting reckoned, as by Kafka's metrics."""

from __future__ import annotations

import pytest

from ottla.broker.runtime.quotas.quota_rates import Rate, TokenBucket, Window

KAFKA = Window(samples=11, sample_ms=1000)
T0 = 1_700_000_000_000


def test_the_first_use_counts_as_if_all_samples_but_one_had_passed() -> None:
    rate = Rate(KAFKA)
    rate.record(20_000, T0)
    assert rate.measure(T0) == 2000
    assert rate.throttle_ms(1000, T0) == 10_000
    assert rate.throttle_ms(2000, T0) == 0


@pytest.mark.parametrize(
    ("after_ms", "window_ms"), [(0, 10_000), (999, 10_999), (1000, 10_000), (9999, 10_999)]
)
def test_the_window_is_the_elapsed_time_and_the_missing_samples(
    after_ms: int, window_ms: int
) -> None:
    rate = Rate(KAFKA)
    rate.record(1, T0)
    assert rate.window_ms(T0 + after_ms) == window_ms


def test_usage_expires_after_one_window() -> None:
    rate = Rate(KAFKA)
    rate.record(11_000, T0)
    assert rate.measure(T0 + 10_999) == 11_000 / 10.999
    assert rate.measure(T0 + 11_000) == 0


def test_the_oldest_sample_is_kept_while_the_window_overlaps_it() -> None:
    rate = Rate(KAFKA)
    for second in range(12):
        rate.record(100, T0 + second * 1000)
    assert rate.measure(T0 + 11_000) == pytest.approx(1100 / 10)
    rate = Rate(KAFKA)
    for half in range(24):
        rate.record(50, T0 + half * 500)
    # Of the twelve samples the first had its last use half a second into it.
    assert rate.measure(T0 + 11_400) == pytest.approx(1200 / 11.4)


def test_returned_usage_does_not_count() -> None:
    rate = Rate(KAFKA)
    rate.record(500, T0)
    rate.record(-500, T0 + 1)
    assert rate.measure(T0 + 1) == 0


def test_waiting_so_long_brings_the_rate_to_the_limit() -> None:
    rate = Rate(KAFKA)
    rate.record(15_000, T0)
    wait_ms = rate.throttle_ms(1000, T0)
    assert wait_ms == 5000
    assert 15_000 / ((10_000 + wait_ms) / 1000) == 1000


def test_a_bucket_is_full_at_first_and_never_fuller_than_a_window() -> None:
    bucket = TokenBucket(KAFKA)
    bucket.record(11, 1, T0)
    assert bucket.throttle_ms(1, T0) == 0
    bucket.record(1, 1, T0)
    assert bucket.throttle_ms(1, T0) == 1000
    assert bucket.throttle_ms(1, T0 + 400) == 600
    bucket.record(11, 1, T0 + 60_000)
    assert bucket.throttle_ms(1, T0 + 60_000) == 0
