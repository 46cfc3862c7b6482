"""Apache Kafka accepts the shapes of logs that the lab writes, and reads the same in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.client import Client
from ottla.client.record_batch import OutgoingRecord
from ottla.client.record_producer import produce
from ottla.testing import Ottla

from ..lab.given_shapes import SHAPES
from .dump import complaints, dumped, user_logs
from .installation import tool
from .place import Place

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]


def test_kafkas_dump_tool_and_broker_accept_the_given_shapes(place: Place) -> None:
    with place.ottla() as broker:
        for shape, (parameters, _, _) in SHAPES.items():
            broker.given(shape, topic=shape, **parameters)
        broker.given("hanging_transaction", topic="hanging")
        values = values_of(broker)
    # The tool says so of any log whose offsets have holes, such as a compacted one.
    sparse = place.data / "sparse_offsets-0" / "00000000000000000000.log"
    assert fault_lines(place.data) == [f"Non-consecutive offsets in {sparse}"]
    with place.kafka() as bootstrap:
        for shape, expected in values.items():
            expected.append(append_end(bootstrap, shape))
            done = tool(
                "ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", shape,
                "--from-beginning", "--max-messages", str(len(expected)),
                "--isolation-level", "read_committed",
            )  # fmt: skip
            assert done.stdout.splitlines() == expected, shape
    with place.ottla() as broker:
        assert values_of(broker) == values
    assert place.complaints == []


def append_end(bootstrap: str, topic: str) -> str:
    """Append a record, so that its reader need not wait for more; its value."""
    with Client.to(bootstrap) as client:
        produce(client, topic, [OutgoingRecord(b"the end", key=b"end", partition=0)])
    return "the end"


def values_of(broker: Ottla) -> dict[str, list[str]]:
    return {
        shape: [record.value.decode() for record in broker.read(shape) if record.value is not None]
        for shape in SHAPES
    }


def fault_lines(data: Path) -> list[str]:
    """What Kafka's dump tool complains about, without names of files and of the control type."""
    output = dumped(user_logs(data), "--deep-iteration")
    lines = [line for line in output.splitlines() if not line.startswith("Dumping ")]
    return complaints("\n".join(lines).replace("controlType: UNKNOWN(99)", ""))
