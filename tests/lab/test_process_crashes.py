"""A broker of one node dies by SIGKILL at each point, seen by librdkafka, aiokafka and Java.

The trace is in a file, which ends with the crash.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ottla.testing import Ottla
from ottla.testing.lab import Event

from .actors import Actor
from .clients import with_marks
from .crash_points import (
    FEW,
    OF_COMPACTION,
    OF_PROCESSES,
    OF_TRANSACTIONS,
    OLD_MS,
    begin_old_segment,
    match_of,
)
from .traces import values

pytestmark = pytest.mark.clients
TOPIC = "orders"


def cases(points: Iterable[str]) -> list[Any]:
    return [with_marks(client, point) for client, point in OF_PROCESSES if point in points]


@pytest.fixture
def client_at(request: pytest.FixtureRequest, broker: Ottla) -> Iterator[tuple[Actor, str]]:
    """A client, and the point at which the broker dies."""
    name, point = request.param
    program = request.getfixturevalue(f"{name}_program")
    begin_old_segment(broker, TOPIC)
    program.open(broker, TOPIC)
    yield program, point
    program.close()


@pytest.fixture
def broker() -> Iterator[Ottla]:
    with Ottla(settings=FEW) as started:
        yield started


@pytest.mark.parametrize("client_at", cases(OF_TRANSACTIONS), indirect=True)
def test_a_commit_ends_well_although_the_broker_dies_at(
    client_at: tuple[Actor, str], broker: Ottla
) -> None:
    client, point = client_at
    with ThreadPoolExecutor(1) as thread:
        file = broker.data_dir.parent / "trace.jsonl"
        broker.trace.start(file=file)
        broker.faults.add("crash", point=point, match=match_of(point, TOPIC))
        ended = thread.submit(transaction, client)
        crash = died_at_the_end(broker, file, point)
        assert crash["action"]["point"] == point
        broker.start()
        ended.result(60)
    broker.wait_for(lambda: [each.state for each in broker.transactions()] == ["CompleteCommit"])
    assert client.poll(TOPIC, 2) == values(broker, TOPIC) == ["old", "x"]
    assert broker.offsets("group") == {(TOPIC, 0): 7}


def transaction(program: Actor) -> None:
    program.begin()
    program.send(TOPIC, "x")
    program.flush()
    program.offset("group", TOPIC, 7)
    program.commit()


def died_at_the_end(broker: Ottla, file: Path, point: str) -> Event:
    """The fault in the trace of a broker that is killed: nothing came after it."""
    process = broker._process
    assert process is not None
    assert process.wait(20) in (-signal.SIGKILL, None)
    broker.kill()
    events = events_in(file)
    (crash,) = [each for each in events if each["kind"] == "fault"]
    if point == "prepare_answer":  # the answer is sent two turns of the event loop later
        return dict(crash)
    assert events[-1] == crash
    answers = [each for each in events if each["kind"] == "answer"]
    assert crash.get("cause", 0) not in {each["cause"] for each in answers}
    return dict(crash)


def events_in(file: Path) -> list[Event]:
    with file.open() as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("client_at", cases(OF_COMPACTION), indirect=True)
def test_a_compacted_log_is_whole_although_the_broker_dies_at(
    client_at: tuple[Actor, str], broker: Ottla
) -> None:
    client, point = client_at
    configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    broker.create_topic("compacted", configs={**configs, "segment.ms": "60000"})
    file = broker.data_dir.parent / "trace.jsonl"
    broker.trace.start(file=file)
    broker.faults.add("crash", point=point, match={"topic": "compacted"})
    for index in range(3):
        broker.produce("compacted", [{"key": "k", "value": str(index), "timestamp_ms": OLD_MS}])
    broker.produce("compacted", [("other", "last")])
    died_at_the_end(broker, file, point)
    broker.start()
    broker.wait_for(lambda: values(broker, "compacted") == ["2", "last"])
    assert client.poll("compacted", 2) == ["2", "last"]
