"""Settings of a broker that are changed while it runs count for the very next request."""

from __future__ import annotations

import pytest

from tests.broker.handlers.admin_requests import produce
from tests.broker.handlers.config_scenes import BROKER, DELETE, SET, changed
from tests.broker.handlers.record_scenes import deleted
from tests.broker.handlers.topic_requests import Step, create
from tests.broker.talk import NOW_MS, Talk
from tests.wire.batches import Batch, batch, batches_in
from tests.wire.client import error_name

LONG_AGO_MS = 1_600_000_000_000


def set_to(talk: Talk, name: str, value: str | None, *, broker: str = "") -> None:
    change = (name, DELETE if value is None else SET, value)
    answer = talk.ask(changed(BROKER, broker, change))
    assert answer is not None
    assert error_name(answer["responses"][0]["error_code"]) == "NONE", answer


def produced(talk: Talk, size: int = 10) -> str:
    """The error of a batch of one record of so many bytes."""
    answer = talk.ask(produce("orders", batch([b"x" * size], timestamp=LONG_AGO_MS)))
    assert answer is not None
    return error_name(answer["responses"][0]["partition_responses"][0]["error_code"])


def last(talk: Talk) -> Batch:
    """The last batch of the log."""
    log = talk.node.open_log_of("orders", 0)
    assert log is not None
    end = log.log_end_offset
    read = log.read(end - 1, max_bytes=1 << 20, up_to=end, min_one=True)
    return batches_in(bytes(read.records))[-1]


@pytest.mark.parametrize("broker", ["", "1"], ids=["of all brokers", "of this broker"])
def test_how_large_a_batch_may_be(broker: str, talk: Talk) -> None:
    talk.ask(create("orders"))
    assert produced(talk, 2000) == "NONE"
    set_to(talk, "message.max.bytes", "1000", broker=broker)
    assert produced(talk, 2000) == "MESSAGE_TOO_LARGE"
    set_to(talk, "message.max.bytes", None, broker=broker)
    assert produced(talk, 2000) == "NONE"


def test_message_timestamp_type_decides_the_timestamp_of_a_batch(talk: Talk) -> None:
    talk.ask(create("orders"))
    assert produced(talk) == "NONE"
    assert last(talk).max_timestamp == LONG_AGO_MS
    set_to(talk, "log.message.timestamp.type", "LogAppendTime")
    assert produced(talk) == "NONE"
    assert last(talk).max_timestamp == NOW_MS


def test_how_old_a_record_may_be(talk: Talk) -> None:
    talk.ask(create("orders"))
    set_to(talk, "log.message.timestamp.before.max.ms", "1000")
    assert produced(talk) == "INVALID_TIMESTAMP"
    set_to(talk, "log.message.timestamp.before.max.ms", None)
    assert produced(talk) == "NONE"


def test_how_batches_are_compressed(talk: Talk) -> None:
    talk.ask(create("orders"))
    assert produced(talk, 500) == "NONE"
    assert last(talk).compression == 0
    set_to(talk, "compression.type", "zstd")
    assert produced(talk, 500) == "NONE"
    assert last(talk).compression == 4


def test_whether_records_may_be_deleted(talk: Talk) -> None:
    talk.ask(create("orders"))
    set_to(talk, "log.cleanup.policy", "compact")
    answer = talk.ask(deleted(("orders", {0: 0})))
    assert answer is not None
    code = answer["topics"][0]["partitions"][0]["error_code"]
    assert error_name(code) == "POLICY_VIOLATION"


def test_how_large_a_segment_may_be_and_how_old_a_record(talk: Talk) -> None:
    talk.ask(create("orders"))
    set_to(talk, "log.roll.ms", "1")
    for _ in range(3):
        assert produced(talk) == "NONE"
    log = talk.node.open_log_of("orders", 0)
    assert log is not None
    set_to(talk, "log.retention.ms", "1")
    assert log.config.retention_ms == 1
    assert log.config.segment_ms == 1
    set_to(talk, "log.retention.ms", "-1", broker="1")
    assert log.config.retention_ms == -1


def test_a_setting_that_is_wrong_changes_nothing(talk: Talk) -> None:
    talk.ask(create("orders"))
    step: Step = changed(BROKER, "", ("message.max.bytes", SET, "1"), ("node.id", SET, "2"))
    answer = talk.ask(step)
    assert answer is not None
    assert error_name(answer["responses"][0]["error_code"]) == "INVALID_REQUEST"
    assert produced(talk) == "NONE"
