"""The arithmetic of `make bench-neighbours`: its schedule, its percentiles, its verdict."""

from __future__ import annotations

from collections import deque

import pytest

from benchmarks.bench_neighbours import best_of, row
from benchmarks.good_client import (
    Latencies,
    ask_on_schedule,
    percentile,
    summarize,
    take_whole,
)
from benchmarks.neighbours import SCENES


class StandingBroker:
    """Answers each request after 1 s, and nothing between two times of its own clock."""

    def __init__(self, from_s: float = 0.0, to_s: float = 0.0) -> None:
        self.now_s = 100.0
        self.stands = (100.0 + from_s, 100.0 + to_s)
        self.sent: list[int] = []
        self.due: deque[float] = deque()

    def now(self) -> float:
        return self.now_s

    def send(self, number: int) -> None:
        self.sent.append(number)
        answered_s = self.now_s + 1
        from_s, to_s = self.stands
        self.due.append(to_s if from_s <= answered_s <= to_s else answered_s)

    def receive(self, wait_s: float) -> int:
        self.now_s = min(self.now_s + wait_s, self.due[0] if self.due else float("inf"))
        answers = 0
        while self.due and self.due[0] <= self.now_s:
            self.due.popleft()
            answers += 1
        return answers


def test_a_request_is_sent_when_it_is_due() -> None:
    asked = StandingBroker()
    assert ask_on_schedule(asked, 10, 3, asked.now) == [1, 1, 1]
    assert asked.sent == [0, 1, 2]
    assert asked.now_s == 121


def test_a_stall_counts_for_every_request_that_it_delays() -> None:
    asked = StandingBroker(from_s=10, to_s=45)
    assert ask_on_schedule(asked, 10, 6, asked.now) == [1, 35, 25, 15, 5, 1]


def test_requests_are_sent_while_others_have_no_answer() -> None:
    asked = StandingBroker()
    assert ask_on_schedule(asked, 0.25, 4, asked.now) == [1, 1, 1, 1]
    assert asked.now_s == 101.75


@pytest.mark.parametrize(
    ("count", "per_mille", "rank"),
    [
        (1000, 999, 999),
        (1000, 500, 500),
        (2500, 999, 2498),
        (10, 999, 10),
        (1, 500, 1),
        (3, 500, 2),
    ],
)
def test_a_percentile_is_the_latency_of_a_request(count: int, per_mille: int, rank: int) -> None:
    assert percentile(range(1, count + 1), per_mille) == rank


def test_a_summary_is_in_milliseconds_whatever_the_order() -> None:
    found = summarize([number / 1000 for number in range(1000, 0, -1)])
    assert found == Latencies(1000, 500, 990, 999, 1000)


def test_two_of_a_thousand_requests_above_the_goal_miss_it() -> None:
    one, two = ([0.001] * (1000 - late) + [0.021] * late for late in (1, 2))
    assert "goal <= 20 ms: met" in row(SCENES["nothing"], summarize(one))
    assert "goal <= 20 ms: **not met**" in row(SCENES["nothing"], summarize(two))


def test_the_best_round_is_that_of_the_lowest_p999() -> None:
    slower, faster = Latencies(9, 1, 1, 30, 31), Latencies(9, 2, 2, 10, 99)
    assert best_of([slower, faster]) is faster


def test_only_whole_answers_count() -> None:
    unread = bytearray(b"\0\0\0\2ab\0\0\0\0\0\0\0\3ab")
    assert take_whole(unread) == 2
    unread += b"c\0\0"
    assert take_whole(unread) == 1
    assert unread == b"\0\0"
