"""Ottla and Apache Kafka open one directory in turn; clients find the same state and go on.

Each finds the data of the other, open transactions included, and producers continue their sequences
and transactions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from ..wire.client import until
from .place import Place
from .seen import Seen, seen
from .story import Story

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]


@contextmanager
def opened(place: Place, who: str, *, kill: bool) -> Iterator[str]:
    """HOST:PORT of Ottla or Kafka on the directory."""
    if who == "kafka":
        with place.kafka(kill=kill) as bootstrap:
            yield bootstrap
    else:
        with place.ottla(kill=kill) as ottla:
            yield ottla.bootstrap


def lacking(place: Place, left: Seen) -> list[str]:
    """The partitions with a new log start offset that is not on disk yet."""
    return [
        f"{topic}-{index}"
        for topic, ends in left["ends"].items()
        for index, (start, _, _) in ends.items()
        if start and not place.knows_start(f"{topic}-{index}", start)
    ]


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize("first", ["ottla", "kafka"])
def test_each_broker_finds_the_data_of_the_other(place: Place, first: str, kill: bool) -> None:
    story, left = Story(), None
    second = "kafka" if first == "ottla" else "ottla"
    for who in (first, second, first, second, first):
        with opened(place, who, kill=kill) as bootstrap:
            if left is not None:
                assert seen(bootstrap) == left, f"{who} found a different state"
            story.play(bootstrap)
            left = seen(bootstrap)
            if kill:  # Kafka deletes records finally at its checkpoint
                assert until(partial(lacking, place, left), lambda names: not names) == []
    assert place.complaints == []
