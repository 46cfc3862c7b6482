"""Random Fetches get the answers that Apache Kafka 4.1.1 gave, at the moments when it gave them.

OTTLA_FETCHES=FIRST:LAST are the seeds that are compared with a running Kafka.
"""

from __future__ import annotations

import os

import pytest

from . import random_fetches
from .client import Address
from .conftest import address_of, warm_up

_AT_ONCE = 4


def test_random_fetches_are_answered_as_kafka_answered_them(address: Address) -> None:
    """All in one test, side by side, because they wait for real time."""
    theirs = random_fetches.corpus()
    assert [*theirs] == [*random_fetches.CORPUS_SEEDS]
    ours = random_fetches.outcomes(address, theirs, at_once=len(theirs))
    found = [
        line
        for seed, outcome in theirs.items()
        for line in random_fetches.different(outcome, ours[seed], seed)
    ]
    assert not found, "\n".join(found)


def test_the_recorded_fetches_come_at_every_moment_and_with_every_error() -> None:
    """The corpus would see little otherwise."""
    answers = [
        answer for rounds in random_fetches.corpus().values() for each in rounds for answer in each
    ]
    assert {answer[0] for answer in answers} == {"at once", "at the event", "at the limit"}
    parts = [part for answer in answers for part in answer[3]]
    assert {part[2] for part in parts} == {
        "NONE", "OFFSET_OUT_OF_RANGE", "UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION",
    }  # fmt: skip
    assert any(len(part[4]) > 1 for part in parts), "several batches"
    assert any(part[5] for part in parts), "aborted ones"
    assert sum(answer[2] for answer in answers) > 100, "sessions"


@pytest.mark.kafka
@pytest.mark.slow
def test_random_fetches_are_answered_as_kafka_answers_them(
    address: Address, apache_kafka: str
) -> None:
    first, last = map(int, os.environ.get("OTTLA_FETCHES", "100:120").split(":"))
    kafka = address_of(apache_kafka)
    warm_up(kafka)
    found = []
    for start in range(first, last + 1, _AT_ONCE):
        seeds = range(start, min(start + _AT_ONCE, last + 1))
        ours = random_fetches.outcomes(address, seeds)
        theirs = random_fetches.outcomes(kafka, seeds)
        for seed in seeds:
            found += random_fetches.different(theirs[seed], ours[seed], seed)
    assert not found, "\n".join(found)
