"""A broker of one node dies by SIGKILL at each point, seen by the Java client and by aiokafka.

The trace is in a file, which ends with the crash.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ottla.lab_client import Event
from ottla.testing import Ottla

from .actors import Actor
from .crash_points import OF_TRANSACTION, begin_old_segment, match_of
from .traces import values

pytestmark = pytest.mark.clients
TOPIC = "orders"
OF_AIOKAFKA = ("prepare_append", "before_marker", "before_complete_append")
CASES = [
    *(("aiokafka", point) for point in OF_AIOKAFKA),
    *(
        pytest.param("java", point, marks=[pytest.mark.kafka])
        for point in (*OF_TRANSACTION, "offsets_materialized")
    ),
]


@pytest.mark.parametrize(("name", "point"), CASES)
def test_a_commit_ends_well_although_the_broker_dies_at(
    name: str, point: str, request: pytest.FixtureRequest
) -> None:
    program: Actor = request.getfixturevalue(f"{name}_program")
    few = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
    with Ottla(settings=few) as broker, ThreadPoolExecutor(1) as thread:
        begin_old_segment(broker, TOPIC)
        program.open(broker, TOPIC)
        file = broker.data_dir.parent / "trace.jsonl"
        broker.trace.start(file=file)
        broker.faults.add("crash", point=point, match=match_of(point, TOPIC))
        ended = thread.submit(transaction, program)
        broker.wait_for(lambda: not broker.runs)
        kinds = [each["kind"] for each in events_in(file)]
        assert kinds.count("fault") == 1
        # The answer is sent two turns of the event loop later.
        assert kinds[-1] == "fault" or point == "prepare_answer"
        broker.kill()
        broker.start()
        ended.result(40)
        broker.wait_for(
            lambda: [each.state for each in broker.transactions()] == ["CompleteCommit"]
        )
        assert program.poll(TOPIC, 2) == values(broker, TOPIC) == ["old", "x"]
        assert broker.offsets("group") == {(TOPIC, 0): 7}
        program.close()


def transaction(program: Actor) -> None:
    program.begin()
    program.send(TOPIC, "x")
    program.flush()
    program.offset("group", TOPIC, 7)
    program.commit()


def events_in(file: Path) -> list[Event]:
    with file.open() as lines:
        return [json.loads(line) for line in lines]
