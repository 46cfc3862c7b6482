"""A time-out of a test says why it waited, and never waits long for that."""

from __future__ import annotations

import os
import signal

import pytest

from ottla.testing import Ottla

BUSY_S = 60.0
"""Time for the sentences on a busy machine, too."""


def test_a_read_that_waits_behind_a_transaction_says_so(ottla: Ottla, ottla_topic: str) -> None:
    ottla.reasons_deadline_s = BUSY_S
    ottla.given("ongoing_transaction", topic=ottla_topic, transactional_id=ottla_topic)
    with pytest.raises(TimeoutError) as failed:
        ottla.read(ottla_topic, until=1, timeout_s=0.1)
    first, *others = str(failed.value).splitlines()
    assert first == f"{ottla_topic} has 0 records after 0.1 s, not 1 records"
    assert others[0] == "Why?"
    assert others[1].startswith(f"- A read_committed reader of {ottla_topic}-0 waits at offset 0")


def test_a_wait_for_something_else_says_that_nothing_is_stuck() -> None:
    with Ottla() as broker:
        broker.reasons_deadline_s = BUSY_S
        with pytest.raises(TimeoutError) as failed:
            broker.wait_for(lambda: False, timeout_s=0.01)
    assert str(failed.value).splitlines() == [
        "it was not true within 0.01 s, but False",
        "Ottla sees nothing that is stuck.",
    ]


def test_a_broker_that_hangs_does_not_hide_the_time_out() -> None:
    with Ottla() as broker:
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            with pytest.raises(TimeoutError) as failed:
                broker.wait_for(lambda: False, timeout_s=0.01)
        finally:
            os.kill(broker.pid, signal.SIGCONT)
    assert str(failed.value) == "it was not true within 0.01 s, but False"


def test_a_question_about_a_group_names_it(ottla: Ottla, ottla_topic: str) -> None:
    found = ottla.why(group=ottla_topic)
    assert found.is_stuck
    assert found.sentences[0].startswith(f"No group {ottla_topic} exists")
    assert str(found).splitlines()[0] == found.sentences[0]
