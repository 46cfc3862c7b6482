"""The sink loses and doubles no row in simulated crashes."""

from __future__ import annotations

import os
from collections import Counter

from .simulated import run

SEEDS = int(os.environ.get("OTTLA_SINK_SEEDS", "800"))
HAPPENS = {
    "timeout": 100,
    "epoch rollover": 100,
    "round 2": 30,
    "round 3": 3,
    "difference written": 10,
    "fate read from the log": 20,
    "driver fenced": 20,
    "task fenced": 1,
    "ids expired": 50,
    "replay with other rows": 1,
    "commit of an earlier batch": 20,
    "crash of the tasks": 100,
    "crash: before Describe": 20,
    "crash: before Write": 20,
    "crash: before End": 20,
    "crash: before ReadLog": 3,
    "crash: before WriteDifference": 1,
    "crash: before Fence": 20,
    "crash: task committed": 50,
    "crash: fenced": 10,
    "crash: before Finish": 10,
}


def test_no_row_is_lost_or_doubled_and_no_transaction_stays_open() -> None:
    happened: Counter[str] = Counter()
    for seed in range(SEEDS):
        try:
            result = run(seed)
        except AssertionError as failed:
            raise AssertionError(f"seed {seed}: {failed}") from failed
        assert not result.open_ids, f"seed {seed}"
        happened += result.happened
    rare = {kind: happened[kind] for kind, least in HAPPENS.items() if happened[kind] < least}
    assert not rare
