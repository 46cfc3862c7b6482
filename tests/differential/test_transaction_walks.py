"""Random requests of two clients of one transactional id get the same answers.

Each step is a request of `transaction_table` with the client's last producer id and epoch, or an
epoch beside it. After each step the answers and the results of DescribeTransactions are compared,
with producer ids by their order. OTTLA_WALKS is the number of walks (60).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import Pair
from .transaction_table import REQUESTS, Identity, Table, rested

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

WALKS = int(os.environ.get("OTTLA_WALKS", "60"))
STEPS = 18
CLIENTS = 2
FIRST = "InitProducerId4 anew"
EPOCH_STEPS = (0, 0, 0, 0, 0, -1, 1)
NOBODY = (424_242, 0)
# Kafka takes any epoch one behind as a retry of EndTxn 5, also that of a fenced producer.
BETTER = "PRODUCER_FENCED"


class Walker:
    """A transactional id at one broker, and the producers that its clients know."""

    def __init__(self, table: Table) -> None:
        self._nobody = table.nobody()
        self._told: list[tuple[int, int] | None] = [None] * CLIENTS
        self._ids: list[int] = []

    def _named(self, producer_id: int) -> int:
        if producer_id >= 0 and producer_id not in self._ids:
            self._ids.append(producer_id)
        return self._ids.index(producer_id) if producer_id >= 0 else producer_id

    def step(self, client: int, name: str, epoch_step: int) -> tuple[list[Any], list[Any]]:
        """Send a request; its answer and the state afterwards."""
        known = self._told[client] or (self._ids[0] if self._ids else NOBODY[0], NOBODY[1])
        asked = Identity(
            self._nobody.broker,
            self._nobody.transactional_id,
            known[0],
            known[1] + epoch_step,
            self._nobody.topic,
            self._nobody.group,
        )
        told = list(REQUESTS[name](asked))
        if len(told) == 3 and told[0] == "NONE" and isinstance(told[1], int):
            self._told[client] = (told[1], told[2])
        answer = [
            self._named(each) if at == 1 and isinstance(each, int) else each
            for at, each in enumerate(told)
        ]
        return answer, self._known()

    def _known(self) -> list[Any]:
        then = rested(self._nobody)
        if then["error_code"]:
            return [then["error_code"]]
        # The group's name determines the partition of its offsets.
        places = sorted(
            (topic["topic"] == self._nobody.topic, sorted(topic["partitions"]))
            if topic["topic"] == self._nobody.topic
            else (False, [])
            for topic in then["topics"]
        )
        owner = [self._named(then["producer_id"]), then["producer_epoch"]]
        return [then["transaction_state"], *owner, places]


@pytest.fixture(scope="module")
def tables(pair: Pair) -> Iterator[tuple[Table, Table]]:
    """Tables at Ottla and at Kafka."""
    both = Table(pair[0]), Table(pair[1])
    yield both
    for table in both:
        table.close()


@pytest.mark.parametrize("seed", range(WALKS))
def test_random_walks_get_the_same_answers(seed: int, tables: tuple[Table, Table]) -> None:
    chance = random.Random(seed)
    names = [name for name in REQUESTS if not name.endswith(" bad")]
    weights = [6 if name == FIRST else 3 if name.startswith("Init") else 2 for name in names]
    ours, theirs = (Walker(table) for table in tables)
    walked = []
    for number in range(STEPS):
        client, epoch_step = chance.randrange(CLIENTS), chance.choice(EPOCH_STEPS)
        name = FIRST if number < CLIENTS else chance.choices(names, weights)[0]
        step = (client, name, epoch_step)
        our, their = ours.step(*step), theirs.step(*step)
        walked.append(f"client {client}, {name}, epoch {epoch_step:+d}: {their}")
        if our != their and name.startswith("EndTxn5") and our[0][0] == BETTER:
            assert our[1] == their[1]
            return
        assert our == their, "\n".join(walked)
