"""What the lab writes of each event of the broker is what the structs of a trace have."""

from __future__ import annotations

import json
from typing import Any, Final, get_args

import pytest

from ottla.broker import events
from ottla.coordinator.outcome import Outcome, Producer
from ottla.lab.tracing.trace_events import is_traced_with_its_request, traced_event
from ottla.protocol.errors import Code
from ottla.storage.disk.file_events import FileEvent
from ottla.trace.events import event_of, fields_of, kind_of

VALUES: Final[dict[str, Any]] = {
    "node_id": 1, "connection_id": "c", "listener": "PLAINTEXT", "client_id": None,
    "topic": "orders", "partition": 2, "outcome": Outcome(None, (Producer(1, 2),)), "now_ms": 1,
    "by_timer": True, "code": Code.NOT_COORDINATOR, "group_id": "g", "group_type": "classic",
    "before": "Empty", "after": "Stable", "before_type": "classic", "after_type": "consumer",
    "log_end_offset": 8, "log_start_offset": 3, "producer": Producer(5, 6), "commit": True,
    "coordinator_epoch": 4, "base_offset": 1, "records": (), "leaders": ((1, 0), (2, 1)),
    "by_ms": 60_000, "moved_by": "test_it.py:3", "path": "/data/x",
}  # fmt: skip
DECISIONS: Final = {"decision", "metadata_decision"}
"""Their fields are chosen."""
CLASSES: Final = [
    each
    for each in (*get_args(events.Event), *get_args(FileEvent))
    if not issubclass(each, events.RequestReceived | events.RequestAnswered)
]


@pytest.mark.parametrize("made", CLASSES, ids=lambda each: each.__name__)
def test_no_field_of_an_event_is_lost_on_its_way(made: Any) -> None:
    event = made(**{name: VALUES[name] for name in made._fields})
    assert not is_traced_with_its_request(event)
    traced = traced_event(event, lambda _id, _state: None)
    traced.seq = 1
    line = fields_of(traced)
    if kind_of(traced) not in DECISIONS:
        assert [*line][3:] == [*event._fields]
    assert fields_of(event_of(json.loads(json.dumps(line)))) == json.loads(json.dumps(line))
